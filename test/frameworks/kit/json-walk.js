import { send, walk } from "./journey.js";

/** The journey if sign-ups go to `/signup` and payments to `/checkout`, as JSON. */
walk({
  signUp: (visitor, person) => send(visitor, "/signup", person),
  pay: (visitor, { email }, id) => send(visitor, "/checkout", { id, email }),
  signUpInVain: (visitor) => send(visitor, "/signup", { email: "" }, false),
});
