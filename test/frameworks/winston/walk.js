import assert from "node:assert/strict";
import { test } from "node:test";
import { tracker } from "./journey.js";
import "./json-walk.js";

test("a user's id as attribution is refused, and winston's log says at syslog's level what to pass", async () => {
  const { lines } = await import("./tracker.js");
  const payment = { paymentId: "renewal-1", customerEmail: "erin@shop.example", leadValue: 19.9 };
  const receipt = await tracker.trackPayment(payment, "the user's id");
  assert.deepEqual(receipt, { outcome: "rejected", reason: "invalid" });
  const [line, ...others] = lines.filter((text) => text.includes("was dropped"));
  assert.match(
    line,
    /^warning: express-affiliate: the payment "renewal-1" was dropped: .*`req\.affiliate\.snapshot\(\)`/,
  );
  assert.deepEqual(others, []);
});
