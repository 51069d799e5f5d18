import assert from "node:assert/strict";
import { test } from "node:test";
import { app, credited, person, referred, reported, send } from "./journey.js";
import "./json-walk.js";

test("a payment that is picked once the response has gone out is the affiliate's", async () => {
  const visitor = await referred("FAY");
  const fay = person();
  await send(visitor, "/signup", fay);
  await send(visitor, "/picked", { id: "order-9", email: fay.email });
  await credited("payment", fay, "FAY", { linkedThrough: "sessionId" });
});

test("a page's own cookie comes beside the visitor's, and reloads are one click", async () => {
  const visitor = await referred("GUS");
  for (let load = 0; load < 3; load++) await visitor.open("/basket?ref=GUS");
  assert.deepEqual([...visitor.cookies.keys()].sort(), ["basket", "svc_click_id", "svc_session_id"]);
  assert.equal(await reported("click", { affiliateReference: "GUS" }), 1);
});

test("each invocation has delivered what it reported when it returns", () => {
  assert.ok(app.left.length > 10);
  assert.ok(app.left.every((number) => number === 0));
});
