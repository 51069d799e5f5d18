import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { browser } from "./browser.js";
import { arrives, sandbox, timeoutMs } from "./sandbox.js";

const { tracker } = await import("./tracker.js");

export { tracker };

/** The recipe under test, which listens by now. */
export const app = await import("./app.js");
if (!app.server.listening) await once(app.server, "listening");
const origin = `http://localhost:${app.server.address().port}`;

// Then nothing is left, and the process ends by itself.
after(async () => {
  await (app.close?.() ?? new Promise((resolve) => app.server.close(resolve)));
  app.server.closeAllConnections();
  await tracker.close();
  await sandbox.close();
});

/** Resolves once the service credits the affiliate with what this person has done. */
export const credited = (kind, { email }, affiliateReference, more) =>
  arrives({ kind, customerEmail: email, affiliateReference, ...more });

/** Posts JSON, which the app must take, or refuse; resolves with the body of the answer. */
export async function send(visitor, path, body, isTaken = true, headers = {}) {
  const answer = await visitor.post(path, body, headers);
  assert.equal(answer.status < 400, isTaken, `${answer.status} ${answer.text}`);
  return answer.body;
}

let people = 0;

/** A person that the app does not know yet. */
export const person = () => ({
  email: `ada${++people}@shop.example`,
  name: "Ada",
  password: "correct horse",
});

/** A visitor whom no affiliate sent. */
export const stranger = () => browser(origin);

/** A visitor who has come through an affiliate's link. */
export async function referred(affiliateReference) {
  const visitor = browser(origin);
  const { status } = await visitor.open(`/?ref=${affiliateReference}`);
  assert.equal(status, 200);
  await arrives({ kind: "click", affiliateReference });
  return visitor;
}

/** A visitor who has come through an affiliate's link, and then declined. */
export async function declined(affiliateReference) {
  const visitor = await referred(affiliateReference);
  visitor.cookies.set("consent", "no");
  return visitor;
}

/** How many of a kind the service has, once nothing is queued any more. */
export async function reported(kind, where) {
  const { settled } = await tracker.flush({ timeoutMs });
  assert.ok(settled, "nothing is queued any more");
  return sandbox.ledger[`${kind}s`](where).length;
}

/** The way of every recipe's visitor: click, sign-up (or one that the app refuses), payment of 19.9. */
export function walk({ signUp, pay, signUpInVain }) {
  test("a sign-up and a payment are credited to the affiliate who sent the visitor", async () => {
    const visitor = await referred("ALICE");
    const ada = person();
    await signUp(visitor, ada);
    await credited("registration", ada, "ALICE", { linkedThrough: "clickId" });
    await pay(visitor, ada, "order-1");
    // Not only through the address that the service knows since the sign-up.
    await credited("payment", ada, "ALICE", { linkedThrough: "sessionId", leadValue: 19.9 });
    assert.equal(await reported("registration", { customerEmail: ada.email }), 1);
  });

  test("a payment that is sent twice is one payment", async () => {
    const visitor = await referred("BOB");
    const bo = person();
    await signUp(visitor, bo);
    await pay(visitor, bo, "order-2");
    await pay(visitor, bo, "order-2");
    assert.equal(await reported("payment", { customerEmail: bo.email }), 1);
  });

  test("a sign-up that the app refuses is not reported", async () => {
    const visitor = await referred("CAROL");
    const before = await reported("registration");
    await signUpInVain(visitor);
    assert.equal(await reported("registration"), before);
  });

  test("a visitor who has declined is not reported, although an affiliate sent them", async () => {
    const visitor = await declined("DAN");
    const eve = person();
    await signUp(visitor, eve);
    await pay(visitor, eve, "order-of-eve");
    assert.equal(await reported("registration", { customerEmail: eve.email }), 0);
    assert.equal(await reported("payment", { customerEmail: eve.email }), 0);
  });

  test("a visitor whom no affiliate sent is not reported", async () => {
    const eve = person();
    await signUp(stranger(), eve);
    assert.equal(await reported("registration", { customerEmail: eve.email }), 0);
  });
}
