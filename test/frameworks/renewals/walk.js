import assert from "node:assert/strict";
import { test } from "node:test";
import { app, arrives, person, referred, reported } from "./journey.js";

for (const { kept, path, table } of [
  { kept: "in columns", path: "/signup", table: "users" },
  { kept: "as JSON", path: "/signup/json_users", table: "json_users" },
  { kept: "as JSON text", path: "/signup/text_users", table: "text_users" },
]) {
  test(`a snapshot that is kept ${kept} credits each renewal to the affiliate`, async () => {
    const visitor = await referred("ALICE");
    const ada = person();
    const { status } = await visitor.post(path, ada);
    assert.equal(status, 201);
    for (const month of ["May", "June", "June"]) await app.renewAll(table, month);
    await arrives({
      kind: "payment",
      customerEmail: ada.email,
      affiliateReference: "ALICE",
      linkedThrough: "sessionId",
      leadValue: 19.9,
    });
    assert.equal(await reported("payment", { customerEmail: ada.email, affiliateReference: "ALICE" }), 2);
  });
}
