import assert from "node:assert/strict";
import { test } from "node:test";
import { person, post, referred, reported, walk } from "./journey.js";

const signUp = (visitor, person) => post(visitor, "/signup", person, 200);

walk({
  signUp,
  pay: (visitor, { email }, id) => post(visitor, "/checkout", { id, email }, 200),
  signUpInVain: (visitor) => post(visitor, "/signup", { email: "" }, 400),
});

test("visitors who sign up at the same time are told apart", async () => {
  const signingUp = ["DAVE", "ERIN", "FRANK"].map(async (affiliateReference) => {
    const [visitor, { email }] = [await referred(affiliateReference), person()];
    return { visitor, email, affiliateReference };
  });
  const all = await Promise.all(signingUp);
  await Promise.all(all.map(({ visitor, email }) => signUp(visitor, { email })));
  for (const { email: customerEmail, affiliateReference } of all) {
    assert.equal(await reported("registration", { customerEmail, affiliateReference }), 1);
  }
});
