import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(process.env, {
  BETTER_AUTH_SECRET: "a secret of the walk, and long enough",
  BETTER_AUTH_URL: "http://localhost",
  BETTER_AUTH_TELEMETRY: "0",
});
const { app, credited, declined, person, referred, reported, send, walk } = await import("./journey.js");

const headers = { origin: "http://localhost" };
const signUp = (visitor, person, isTaken) =>
  send(visitor, "/api/auth/sign-up/email", person, isTaken, headers);

walk({
  signUp,
  pay: (visitor, _person, id) => send(visitor, "/checkout", { id }, true, headers),
  signUpInVain: (visitor) => signUp(visitor, { ...person(), password: "short" }, false),
});

test("a later login is no sign-up", async () => {
  const visitor = await referred("DAVE");
  const ada = person();
  await signUp(visitor, ada);
  await send(visitor, "/api/auth/sign-in/email", ada, true, headers);
  assert.equal(await reported("registration", { customerEmail: ada.email }), 1);
});

test("no renewal of a visitor who declined is reported", async () => {
  const eve = person();
  await signUp(await declined("ERIN"), eve);
  await app.renew(eve.email, "renewal-of-eve");
  assert.equal(await reported("payment", { customerEmail: eve.email }), 0);
});

test("a renewal is credited through the snapshot on the user's row, which no browser sees", async () => {
  const ada = person();
  const { user } = await signUp(await referred("ERIN"), ada);
  assert.equal(user.affiliate, undefined);
  await app.renew(ada.email, "renewal-1");
  await credited("payment", ada, "ERIN", { linkedThrough: "sessionId" });
});
