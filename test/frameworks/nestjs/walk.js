import { post, walk } from "./journey.js";

walk({
  signUp: (visitor, person) => post(visitor, "/signup", person, 201),
  pay: (visitor, { email }, id) => post(visitor, "/checkout", { id, email }, 201),
  signUpInVain: (visitor) => post(visitor, "/signup", { email: "" }, 400),
});
