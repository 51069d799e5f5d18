import assert from "node:assert/strict";
import { test } from "node:test";
import { person, referred, reported, walk } from "./journey.js";

async function execute(visitor, query, variables) {
  const { body } = await visitor.post("/graphql", { query, variables });
  return body;
}

async function done(visitor, query, variables) {
  const { data, errors } = await execute(visitor, query, variables);
  assert.deepEqual(errors, undefined);
  return data;
}

const SIGN_UP = "mutation ($email: String!) { signUp(email: $email) { id } }";
const CHECKOUT = "mutation ($id: ID!, $email: String!) { checkout(id: $id, email: $email) { total } }";

walk({
  signUp: (visitor, { email }) => done(visitor, SIGN_UP, { email }),
  pay: (visitor, { email }, id) => done(visitor, CHECKOUT, { id, email }),
  signUpInVain: async (visitor) => {
    const { errors } = await execute(visitor, SIGN_UP, { email: "" });
    assert.equal(errors[0].message, "no address");
  },
});

test("a mutation that signs up and pays at once is both", async () => {
  const visitor = await referred("DAVE");
  const { email } = person();
  await done(
    visitor,
    `mutation ($email: String!) {
      signUp(email: $email) { id }
      checkout(id: "order-3", email: $email) { total }
    }`,
    { email },
  );
  for (const kind of ["registration", "payment"]) {
    assert.equal(await reported(kind, { customerEmail: email, affiliateReference: "DAVE" }), 1);
  }
});
