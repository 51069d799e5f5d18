import assert from "node:assert/strict";
import { app, send, walk } from "./journey.js";

/** Asks for a link by e-mail. */
async function askForLink(visitor, email) {
  const { body } = await visitor.send("GET", "/auth/csrf");
  const form = new URLSearchParams({ csrfToken: body.csrfToken, email }).toString();
  await visitor.send(
    "POST",
    "/auth/signin/email",
    { "content-type": "application/x-www-form-urlencoded" },
    form,
  );
}

walk({
  async signUp(visitor, { email }) {
    await askForLink(visitor, email);
    const { pathname, search } = new URL(app.links.get(email));
    const { status } = await visitor.open(pathname + search);
    assert.equal(status, 302);
  },
  pay: (visitor, _person, id) => send(visitor, "/checkout", { id }),
  signUpInVain: (visitor) => askForLink(visitor, "eve@shop.example"), // and does not follow it
});
