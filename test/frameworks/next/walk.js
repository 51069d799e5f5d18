import assert from "node:assert/strict";
import { test } from "node:test";
import { post, stranger, tracker, walk } from "./journey.js";

walk({
  signUp: (visitor, person) => post(visitor, "/api/signup", person, 201),
  pay: (visitor, { email }, id) => post(visitor, "/api/checkout", { id, email }, 201),
  signUpInVain: (visitor) => post(visitor, "/api/signup", { email: "" }, 400),
});

test("the handlers of Next and the server have one tracker", () => {
  assert.ok(tracker.stats().duplicates > 0);
});

test("a page that Next has prerendered is in no shared cache if it sets a visitor's cookies", async () => {
  const { headers } = await stranger().open("/?ref=ALICE");
  assert.match(String(headers["set-cookie"]), /svc_click_id=/);
  assert.match(headers["cache-control"], /private|no-store/);
  const { headers: withoutClick } = await stranger().open("/");
  assert.match(withoutClick["cache-control"], /s-maxage/);
});
