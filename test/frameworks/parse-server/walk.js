import assert from "node:assert/strict";
import { walk } from "./journey.js";

const sessions = new Map();

async function ask(visitor, path, body, isTaken = true) {
  const headers = { "x-parse-application-id": "shop", "x-parse-session-token": sessions.get(visitor) ?? "" };
  const answer = await visitor.post(`/parse${path}`, body, headers);
  assert.equal(answer.status < 400, isTaken, `${answer.status} ${answer.text}`);
  return answer.body;
}

async function signUp(visitor, { email, password }, isTaken = true) {
  const { sessionToken } = await ask(visitor, "/users", { username: email, email, password }, isTaken);
  sessions.set(visitor, sessionToken);
}

walk({
  signUp,
  pay: (visitor, _person, id) => ask(visitor, "/functions/checkout", { id }),
  signUpInVain: (visitor) => signUp(visitor, { email: "" }, false),
});
