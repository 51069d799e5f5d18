import assert from "node:assert/strict";
import { walk } from "./journey.js";

async function post(visitor, path, body, isTaken = true) {
  const answer = await visitor.post(path, body);
  assert.equal(answer.status < 400, isTaken, `${answer.status} ${answer.text}`);
  return answer;
}

/** The journey if sign-ups go to `/signup` and payments to `/checkout`, as JSON. */
export function walkWithJson() {
  walk({
    signUp: (visitor, person) => post(visitor, "/signup", person),
    pay: (visitor, { email }, id) => post(visitor, "/checkout", { id, email }),
    signUpInVain: (visitor) => post(visitor, "/signup", { email: "" }, false),
  });
}
