import express from "express";
import type { Attribution, Payment } from "express-affiliate";
import type { Sale } from "express-affiliate/gateways";
import { expect, it } from "vitest";
import { bodies } from "../gateways/bodies.js";
import { pageToRun } from "../helpers/docs/run.js";
import { browser, referred, startShop } from "../helpers/docs/shop.js";

const page = pageToRun("docs/recipes.md");
const json = express.json();

/** A shop to which one visitor has come by a link of ALICE. */
async function shopWithClick() {
  const shop = await startShop({ before: [json] });
  await shop.tracker.trackClick({ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1" });
  return shop;
}

it("a checkout page keeps the snapshot of who came by a link, and the payment's event gives it back", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  const intents: { metadata: Record<string, string> }[] = [];
  const create = async (session: { payment_intent_data: { metadata: Record<string, string> } }) => {
    intents.push(session.payment_intent_data);
    return { url: "https://checkout.stripe.example/" };
  };
  await page.run("A guest, or a checkout page", {
    app,
    tracker,
    stripe: { checkout: { sessions: { create } } },
  });
  await referred(app).post("/checkout").send({ price: "price_1" }).expect(303);
  await browser(app).post("/checkout").send({ price: "price_1" }).expect(303);
  const [ofAlice, ofNobody] = intents.map(({ metadata }) => metadata);
  expect(ofNobody).toEqual({});
  // Stripe copies a payment intent's metadata to its charge.
  const { affiliate = "" } = ofAlice ?? {};
  const charge = bodies.stripe.sale({ id: "ch_1", minor: 1_990, email: "ada@shop.example", affiliate });
  const { payment, attribution } = bodies.stripe.read(charge) as Sale;
  await tracker.trackPayment(payment as Payment, attribution);
  await tracker.flush();
  expect(sandbox.ledger.payments()).toMatchObject([{ affiliateReference: "ALICE", leadValue: 19.9 }]);
});

it("a code typed at checkout credits the code's affiliate; without one, the link's", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  const complete = async (order: object) => ({ email: "ada@shop.example", total: 19.9, ...order });
  await page.run("A coupon, or a code typed at checkout", { app, tracker, orders: { complete } });
  await referred(app).post("/orders").send({ id: "o1", affiliateCode: "BOB" }).expect(201);
  await referred(app).post("/orders").send({ id: "o2" }).expect(201);
  await tracker.flush();
  const credited = sandbox.ledger.payments().map(({ affiliateReference }) => affiliateReference);
  expect(credited.sort()).toEqual(["ALICE", "BOB"]);
});

it("a sign-up that is confirmed in another browser is the affiliate's, once", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  const pending: { email: string; affiliate: Attribution }[] = [];
  const pendingUsers = {
    add: async (user: (typeof pending)[number]) => void pending.push(user),
    confirm: async () => pending.splice(0).map((user) => ({ id: 7, ...user }))[0],
  };
  await page.run("A sign-up that is confirmed by e-mail", { app, tracker, pendingUsers });
  await referred(app).post("/signup").send({ email: "ada@shop.example" }).expect(202);
  for (let times = 0; times < 2; times++) await browser(app).get("/confirm/token").expect(302);
  await tracker.flush();
  expect(sandbox.ledger.registrations()).toMatchObject([{ affiliateReference: "ALICE", customerId: "7" }]);
});

it("the banner has the affiliate's name, or none if nobody invited, and while the service is down", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  await page.run('"Ada invited you"', { app, tracker, names: new Map([["ALICE", "Alice"]]) });
  await sandbox.ledger.waitFor({ kind: "click" });
  const nameOf = ({ body }: { body: { name: string | null } }) => body.name;
  expect(nameOf(await referred(app).get("/invited-by"))).toBe("Alice");
  expect(nameOf(await browser(app).get("/invited-by"))).toBeNull();
  await sandbox.fail("503");
  expect(nameOf(await referred(app).get("/invited-by"))).toBeNull();
});
