import assert from "node:assert/strict";
import { test } from "node:test";
import { app, person, referred } from "./journey.js";
import "./json-walk.js";

test("a user's id as attribution is refused, and winston's log says at syslog's level what to pass", async () => {
  const visitor = await referred("ERIN");
  const erin = person();
  await visitor.post("/signup", erin);
  const { body: receipt } = await visitor.post("/renewals", { id: "renewal-1", email: erin.email });
  assert.deepEqual(receipt, { outcome: "rejected", reason: "invalid" });
  const [line, ...others] = app.lines.filter((text) => text.includes("was dropped"));
  assert.match(
    line,
    /^warning: express-affiliate: the payment "renewal-1" was dropped: .*`req\.affiliate\.snapshot\(\)`/,
  );
  assert.deepEqual(others, []);
});
