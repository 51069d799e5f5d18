import { send, walk } from "./journey.js";

const sessions = new Map();

function ask(visitor, path, body, isTaken) {
  const headers = { "x-parse-application-id": "shop", "x-parse-session-token": sessions.get(visitor) ?? "" };
  return send(visitor, `/parse${path}`, body, isTaken, headers);
}

async function signUp(visitor, { email, password }, isTaken) {
  const { sessionToken } = await ask(visitor, "/users", { username: email, email, password }, isTaken);
  sessions.set(visitor, sessionToken);
}

walk({
  signUp,
  pay: (visitor, _person, id) => ask(visitor, "/functions/checkout", { id }),
  signUpInVain: (visitor) => signUp(visitor, { email: "" }, false),
});
