import assert from "node:assert/strict";
import { test } from "node:test";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { app, person, referred, reported, walk } from "./journey.js";

/** tRPC's own client, with the cookies of a visitor's browser. */
function clientOf(visitor) {
  const url = `http://localhost:${app.server.address().port}/trpc`;
  const cookie = () => [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
  return createTRPCClient({ links: [httpBatchLink({ url, headers: () => ({ cookie: cookie() }) })] });
}

walk({
  signUp: (visitor, person) => clientOf(visitor).signUp.mutate(person),
  pay: (visitor, { email }, id) => clientOf(visitor).checkout.mutate({ id, email }),
  signUpInVain: (visitor) => assert.rejects(clientOf(visitor).signUp.mutate({ email: "" }), /no address/),
});

test("procedures that are called in one batch are all reported", async () => {
  const client = clientOf(await referred("DAVE"));
  const people = [person(), person()];
  await Promise.all(people.map((person) => client.signUp.mutate(person)));
  for (const { email } of people) assert.equal(await reported("registration", { customerEmail: email }), 1);
});
