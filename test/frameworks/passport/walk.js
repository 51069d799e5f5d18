import assert from "node:assert/strict";
import { test } from "node:test";

process.env.SESSION_SECRET = "a secret";
const { credited, person, referred, reported, send, stranger, tracker, walk } = await import("./journey.js");

const logIn = (visitor, person) => send(visitor, "/login", person);

walk({
  signUp: logIn,
  pay: (visitor, _person, id) => send(visitor, "/checkout", { id }),
  signUpInVain: (visitor) => send(visitor, "/login", { email: "ada@shop.example" }, false),
});

test("a later login is no sign-up", async () => {
  const visitor = await referred("DAVE");
  const ada = person();
  await logIn(visitor, ada);
  await logIn(visitor, ada);
  await send(visitor, "/login", { ...ada, password: "wrong" }, false);
  assert.equal(await reported("registration", { customerEmail: ada.email }), 1);
});

test("the session that the login regenerates still links the sign-up", async () => {
  const visitor = stranger();
  await visitor.open("/basket");
  const { body } = await visitor.open("/basket");
  const before = visitor.cookies.get("connect.sid");
  await tracker.trackClick({ affiliateReference: "ERIN", clickId: "click-of-erin", ...body });
  const ada = person();
  await logIn(visitor, ada);
  assert.notEqual(visitor.cookies.get("connect.sid"), before);
  await credited("registration", ada, "ERIN", { linkedThrough: "sessionId" });
});
