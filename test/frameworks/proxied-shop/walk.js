import assert from "node:assert/strict";
import { test } from "node:test";
import { app, credited, person, reported, send, stranger } from "./journey.js";
import "./json-walk.js";

for (const path of ["/one", "/another", "/cached"]) {
  test(`visitors who come by one link to ${path}, and reload it, are each a click and a customer of its affiliate's`, async () => {
    const affiliate = `REF-OF${path}`;
    const ids = new Set();
    for (let nth = 1; nth <= 4; nth++) {
      const visitor = stranger();
      for (let load = 0; load < 3; load++) {
        const { status, headers } = await visitor.open(`${path}?ref=${affiliate}`);
        assert.equal(status, 200);
        const own = headers["set-cookie"].filter((cookie) => /^(basket|theme)=/.test(cookie));
        assert.equal(own.length, 2);
      }
      ids.add(visitor.cookies.get("svc_click_id"));
      const customer = person();
      await send(visitor, "/signup", customer);
      await send(visitor, "/checkout", { id: `order${path}-${nth}`, email: customer.email });
      await credited("registration", customer, affiliate);
      await credited("payment", customer, affiliate, { linkedThrough: "sessionId" });
    }
    assert.equal(ids.size, 4);
    assert.equal(await reported("click", { affiliateReference: affiliate }), 4);
  });
}

test("the cache is at work", () => {
  assert.equal(app.asked.filter((path) => path.startsWith("/cached")).length, 1);
});
