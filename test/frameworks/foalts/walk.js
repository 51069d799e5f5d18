import { send, walk } from "./journey.js";

walk({
  signUp: (visitor, person) => send(visitor, "/signup", person),
  pay: (visitor, { email }, id) => send(visitor, "/checkout", { id, email }),
  signUpInVain: (visitor) => send(visitor, "/signup", { email: "" }, false),
});
