import assert from "node:assert/strict";
import { test } from "node:test";
import { app, credited, declined, person, post, referred, reported } from "./journey.js";

for (const { kept, path, table, columns } of [
  { kept: "in columns", path: "/signup", table: "users", columns: ["click_id", "session_id"] },
  { kept: "as JSON", path: "/signup/json_users", table: "json_users", columns: ["affiliate"] },
  { kept: "as JSON text", path: "/signup/text_users", table: "text_users", columns: ["affiliate"] },
]) {
  test(`a snapshot that is kept ${kept} credits each renewal to the affiliate`, async () => {
    const visitor = await referred("ALICE");
    const ada = person();
    await post(visitor, path, ada, 201);
    for (const month of ["May", "June", "June"]) await app.renewAll(table, month);
    await credited("payment", ada, "ALICE", { linkedThrough: "sessionId", leadValue: 19.9 });
    assert.equal(await reported("payment", { customerEmail: ada.email, affiliateReference: "ALICE" }), 2);

    // Consent that is withdrawn:
    const nothing = columns.map((name) => `${name} = null`).join(", ");
    await app.pool.query(`update ${table} set ${nothing} where email = $1`, [ada.email]);
    await app.renewAll(table, "July");
    assert.equal(await reported("payment", { customerEmail: ada.email }), 2);
  });

  test(`a visitor who declined leaves nothing ${kept}, and no renewal is reported`, async () => {
    const eve = person();
    await post(await declined("ALICE"), path, eve, 201);
    await app.renewAll(table, "August");
    assert.equal(await reported("payment", { customerEmail: eve.email }), 0);
  });
}
