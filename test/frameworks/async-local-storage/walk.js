import assert from "node:assert/strict";
import { test } from "node:test";
import { person, referred, reported, send } from "./journey.js";
import "./json-walk.js";

test("visitors who sign up at the same time are told apart", async () => {
  const signingUp = ["DAVE", "ERIN", "FRANK"].map(async (affiliateReference) => {
    const [visitor, { email }] = [await referred(affiliateReference), person()];
    return { visitor, email, affiliateReference };
  });
  const all = await Promise.all(signingUp);
  await Promise.all(all.map(({ visitor, email }) => send(visitor, "/signup", { email })));
  for (const { email: customerEmail, affiliateReference } of all) {
    assert.equal(await reported("registration", { customerEmail, affiliateReference }), 1);
  }
});
