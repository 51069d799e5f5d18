import assert from "node:assert/strict";
import { after, test } from "node:test";
import { prepare, stored } from "./database.js";
import { paymentOf } from "./payment.js";
import { arrives, sandbox, timeoutMs } from "./sandbox.js";

const { pool, tracker } = await import("./outbox.js");

await prepare(pool, tracker);
// Resolves once the outbox's tables are made: postgres.js rolls back for each failed statement.
await tracker.deadLetters.list({ limit: 1 });

/** The recipe under test: `checkout(order)` inserts the order and reports its payment in one transaction. */
const { checkout, close } = await import("./app.js");

after(async () => {
  await close?.();
  await tracker.close();
  await pool.end();
  await sandbox.close();
});

let ids = 0;
const newOrder = (fields) => {
  const id = `order-${++ids}`;
  return { id, email: `${id}@shop.example`, total: 19.9, affiliate: { sessionId: "session-1" }, ...fields };
};

/** How many payments of this customer the service has, once nothing is queued any more. */
async function reported({ email }) {
  // A flush may come before the outbox has looked for what a transaction committed.
  const until = performance.now() + timeoutMs;
  while (!(await tracker.flush({ timeoutMs: 500 })).settled) {
    assert.ok(performance.now() < until, "everything is delivered");
  }
  return sandbox.ledger.payments({ customerEmail: email }).length;
}

test("an order that commits is one payment", async () => {
  const order = newOrder();
  await checkout(order);
  await arrives({ kind: "payment", customerEmail: order.email, sessionId: "session-1", leadValue: 19.9 });
  assert.deepEqual([await stored(pool, order), await reported(order)], [1, 1]);
  const { outcome } = await tracker.trackPayment(paymentOf(order), { sessionId: "s1" });
  assert.equal(outcome, "duplicate");
});

test("an order whose commit fails is not reported, and can be reported when it commits", async () => {
  const order = newOrder({ total: 1_001 });
  await assert.rejects(checkout(order));
  assert.deepEqual([await stored(pool, order), await reported(order)], [0, 0]);
  await checkout({ ...order, total: 999 });
  await arrives({ kind: "payment", customerEmail: order.email, leadValue: 999 });
});

test("an order of a visitor who declined commits, and is not reported", async () => {
  for (const affiliate of [{}, null]) {
    const order = newOrder({ affiliate });
    await checkout(order);
    assert.deepEqual([await stored(pool, order), await reported(order)], [1, 0]);
  }
});

test("an order that is there already is rolled back, and not reported", async () => {
  const order = newOrder();
  await checkout(order);
  await assert.rejects(checkout({ ...order, email: "eve@shop.example" }));
  assert.equal(await reported({ email: "eve@shop.example" }), 0);
});

test("an order whose report is rejected commits all the same", async () => {
  const order = newOrder({ email: "no address" });
  await checkout(order);
  assert.deepEqual([await stored(pool, order), await reported(order)], [1, 0]);
});

test("orders of one visitor that commit at the same time are one payment each", async () => {
  const orders = Array.from({ length: 8 }, () => newOrder());
  await Promise.all(orders.map((order) => checkout(order)));
  for (const order of orders) await arrives({ kind: "payment", customerEmail: order.email });
  for (const order of orders) assert.equal(await reported(order), 1);
});
