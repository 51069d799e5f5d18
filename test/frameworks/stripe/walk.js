import assert from "node:assert/strict";
import { test } from "node:test";
import Stripe from "stripe";

const secret = "whsec_of_the_walk";
Object.assign(process.env, { STRIPE_SECRET_KEY: "sk_test_of_the_walk", STRIPE_WEBHOOK_SECRET: secret });
const { app, arrives, credited, declined, person, post, referred, reported, stranger, tracker } =
  await import("./journey.js");

const stripe = new Stripe(process.env.STRIPE_SECRET_KEY);
const url = `http://localhost:${app.server.address().port}/webhooks/stripe`;
let ids = 0;

/** Signs a person up; resolves with the person and the id of their customer. */
async function customerOf(visitor) {
  const ada = person();
  const { customer } = await post(visitor, "/signup", { email: ada.email }, 201);
  return { ada, customer };
}

function webhook(type, object, fields) {
  const data = { object: { object, currency: "eur", ...fields } };
  return JSON.stringify({ id: `evt_${++ids}`, object: "event", type, data });
}

const paid = (fields) =>
  webhook("invoice.paid", "invoice", { id: `in_${++ids}`, amount_paid: 1990, ...fields });

const json = { "content-type": "application/json" };

/** Delivers a webhook, signed as Stripe signs it; resolves with the status of the answer. */
async function deliver(
  payload,
  { signedWith = secret, timestamp = Math.floor(Date.now() / 1_000), sent = payload } = {},
) {
  const signature = stripe.webhooks.generateTestHeaderString({ payload, secret: signedWith, timestamp });
  const headers = { ...json, "stripe-signature": signature };
  const response = await fetch(url, { method: "POST", headers, body: sent });
  await response.arrayBuffer();
  return response.status;
}

test("an invoice that is paid is a payment of the affiliate, through the snapshot of the sign-up", async () => {
  const { ada, customer } = await customerOf(await referred("ALICE"));
  assert.equal(await deliver(paid({ customer })), 204);
  await credited("payment", ada, "ALICE", { linkedThrough: "sessionId", leadValue: 19.9 });
});

test("each renewal is a payment, for as long as the customer pays", async () => {
  const { ada, customer } = await customerOf(await referred("ALICE"));
  for (let month = 0; month < 3; month++) assert.equal(await deliver(paid({ customer })), 204);
  assert.equal(await reported("payment", { customerEmail: ada.email, affiliateReference: "ALICE" }), 3);
});

test("a webhook that is redelivered, or one more webhook of the same invoice, is one payment", async () => {
  const { ada, customer } = await customerOf(await referred("BOB"));
  const payload = paid({ customer });
  for (let nth = 0; nth < 3; nth++) assert.equal(await deliver(payload), 204);
  assert.equal(await deliver(payload.replace(/"evt_\d+"/, '"evt_of_another_webhook"')), 204);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 1);
});

test("webhooks that arrive at once are one payment", async () => {
  const { ada, customer } = await customerOf(await referred("BOB"));
  const payload = paid({ customer });
  const statuses = await Promise.all(Array.from({ length: 20 }, () => deliver(payload)));
  assert.deepEqual(new Set(statuses), new Set([204]));
  assert.equal(await reported("payment", { customerEmail: ada.email }), 1);
});

test("a webhook that Stripe did not sign is refused", async () => {
  const { ada, customer } = await customerOf(await referred("CAROL"));
  const payload = paid({ customer });
  assert.equal(await deliver(payload, { signedWith: "whsec_of_a_stranger" }), 400);
  assert.equal(await deliver(payload, { sent: payload.replace("1990", "9990") }), 400);
  assert.equal(await deliver(payload, { timestamp: 1 }), 400);
  const unsigned = await fetch(url, { method: "POST", headers: json, body: payload });
  assert.equal(unsigned.status, 400);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 0);
});

for (const [amount_paid, currency, euros] of [
  [1990, "eur", 19.9],
  [2500, "usd", 20],
  [1600, "jpy", 10],
  [3200, "kwd", 10],
  [140_000, "isk", 10],
]) {
  test(`${amount_paid} in ${currency} is ${euros} in euros`, async () => {
    const { ada, customer } = await customerOf(await referred("DAVE"));
    assert.equal(await deliver(paid({ customer, amount_paid, currency })), 204);
    await arrives({ kind: "payment", customerEmail: ada.email, leadValue: euros });
  });
}

test("an invoice of zero, as in a trial, is skipped", async () => {
  const { ada, customer } = await customerOf(await referred("ERIN"));
  const before = tracker.stats().skipped.zero ?? 0;
  assert.equal(await deliver(paid({ customer, amount_paid: 0 })), 204);
  assert.equal(tracker.stats().skipped.zero, before + 1);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 0);
});

test("a customer whom no affiliate sent is not reported", async () => {
  const { ada: eve, customer } = await customerOf(stranger());
  assert.equal(await deliver(paid({ customer })), 204);
  assert.equal(await deliver(paid({ customer: "cus_of_another_shop" })), 204);
  assert.equal(await reported("payment", { customerEmail: eve.email }), 0);
});

test("a customer who declined when they signed up is not reported", async () => {
  const { ada: eve, customer } = await customerOf(await declined("GRACE"));
  assert.equal(await deliver(paid({ customer })), 204);
  assert.equal(await reported("payment", { customerEmail: eve.email }), 0);
});

test("the renewals of a customer who has withdrawn their consent are not reported", async () => {
  const { ada, customer } = await customerOf(await referred("GRACE"));
  assert.equal(await deliver(paid({ customer })), 204);
  app.users.get(customer).affiliate = null;
  assert.equal(await deliver(paid({ customer })), 204);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 1);
});

test("a refund and a chargeback are noted for a person, once, and not reported", async () => {
  const before = await reported("payment");
  const refund = webhook("charge.refunded", "charge", { id: "ch_1", amount: 1990, amount_refunded: 990 });
  const dispute = { id: "dp_1", charge: "ch_2", amount: 1600, currency: "jpy" };
  const chargeback = webhook("charge.dispute.created", "dispute", dispute);
  for (const payload of [refund, refund, chargeback]) assert.equal(await deliver(payload), 204);
  assert.deepEqual(
    [...app.corrections.values()],
    [
      { type: "charge.refunded", charge: "ch_1", amount: 9.9 },
      { type: "charge.dispute.created", charge: "ch_2", amount: 10 },
    ],
  );
  assert.equal(await reported("payment"), before);
});

test("a sale that is refunded within the window is never reported; later, it is noted for a person", async () => {
  const { ada, customer } = await customerOf(await referred("HEIDI"));
  const from = { receipt_email: ada.email, metadata: app.users.get(customer).affiliate };
  const sale = (id) =>
    webhook("payment_intent.succeeded", "payment_intent", { id, amount_received: 1990, ...from });
  const refund = (payment_intent, id) =>
    webhook("charge.refunded", "charge", { id, payment_intent, refunded: true, amount_refunded: 1990 });
  assert.equal(await deliver(sale("pi_1")), 204);
  assert.equal(tracker.stats().scheduled.count, 1);
  for (let nth = 0; nth < 2; nth++) assert.equal(await deliver(refund("pi_1", "ch_3")), 204);
  assert.equal(tracker.stats().scheduled.count, 0);
  assert.equal(await deliver(sale("pi_1")), 204);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 0);
  assert.equal(app.corrections.has("charge.refunded ch_3"), false);

  const invoice = paid({ customer });
  const { id } = JSON.parse(invoice).data.object;
  assert.equal(await deliver(invoice), 204);
  assert.equal(await reported("payment", { customerEmail: ada.email }), 1);
  assert.equal(await deliver(refund(id, "ch_4")), 204);
  assert.equal(app.corrections.has("charge.refunded ch_4"), true);
});

test("Stripe is asked to come again if the outbox takes nothing", async () => {
  const { customer } = await customerOf(await referred("FRANK"));
  await tracker.close();
  assert.equal(await deliver(paid({ customer })), 500);
});
