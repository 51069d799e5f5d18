import assert from "node:assert/strict";
import { walk } from "./journey.js";

const post = async (visitor, path, body, status) => {
  const answer = await visitor.post(path, body);
  assert.equal(answer.status, status, answer.text);
};

walk({
  signUp: (visitor, person) => post(visitor, "/signup", person, 201),
  pay: (visitor, { email }, id) => post(visitor, "/checkout", { id, email }, 201),
  signUpInVain: (visitor) => post(visitor, "/signup", { email: "" }, 400),
});
