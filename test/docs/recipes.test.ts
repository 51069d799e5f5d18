import express from "express";
import type { Attribution } from "express-affiliate";
import { expect, it, onTestFinished } from "vitest";
import { order } from "../helpers/conversions.js";
import { pageToRun } from "../helpers/docs/run.js";
import { browser, referred, startShop } from "../helpers/docs/shop.js";
import { serve } from "../helpers/express.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

const page = pageToRun("docs/recipes.md");
const json = express.json();

/** A shop to which one visitor has come by a link of ALICE. */
async function shopWithClick() {
  const shop = await startShop({ before: [json] });
  await shop.tracker.trackClick({ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1" });
  return shop;
}

it("Stripe Checkout is a payment of the affiliate, through the session's metadata", async () => {
  const { app, tracker, sandbox } = await shopWithClick();
  const sessions: { metadata: Record<string, string> }[] = [];
  const create = async (session: { metadata: Record<string, string> }) => {
    sessions.push(session);
    return { url: "https://checkout.stripe.example/" };
  };
  const stripe = { checkout: { sessions: { create } } };
  const { checkoutCompleted } = await page.run("Stripe Checkout", { app, tracker, stripe });
  await referred(app).post("/checkout").send({ price: "price_1" }).expect(303);
  await browser(app).post("/checkout").send({ price: "price_1" }).expect(303);
  const [ofAlice, ofNobody] = sessions;
  expect(Object.values(ofAlice?.metadata ?? {})).toEqual(['{"clickId":"c1","sessionId":"s1"}']);

  const paid = { id: "cs_1", payment_intent: "pi_1", payment_status: "paid", amount_total: 1990 };
  const session = { ...paid, ...ofAlice, customer_details: { email: "ada@shop.example" } };
  await checkoutCompleted({ ...session, payment_status: "unpaid" });
  await checkoutCompleted(session);
  await checkoutCompleted(session);
  await checkoutCompleted({ ...session, ...ofNobody, id: "cs_2", payment_intent: "pi_2" });
  await tracker.flush();
  expect(sandbox.ledger.payments()).toMatchObject([{ affiliateReference: "ALICE", leadValue: 19.9 }]);
  expect(tracker.stats().skipped["no-attribution"]).toBe(1);
  // By the id that `charge.refunded` has.
  expect(await tracker.cancelPayment("pi_1")).toBe("sent");
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

it("a proxy before a service that differs gives it the payment in its own words, and the tracker its answer", async () => {
  let isLost = false;
  const service = await startService((_request, res) => {
    if (isLost) return void res.destroy();
    res.statusCode = 201;
    return { ok: true };
  });
  process.env.SERVICE_URL = service.url;
  onTestFinished(() => void delete process.env.SERVICE_URL);
  const { payment } = await page.run("If your service differs");
  const { port } = await serve(express().use(json).post("/api/v1/tracking/lead/payment", payment));
  const baseUrl = `http://127.0.0.1:${port}`;
  const tracker = startTracker({ baseUrl, apiKey: "key", confirmReferral: "never" });
  const report = (paymentId: string) =>
    tracker.trackPayment({ ...order, paymentId }, { sessionId: paymentId });
  await report("s1");
  await tracker.flush();
  expect(service.posted).toMatchObject([
    {
      path: "/v2/conversions",
      headers: { authorization: "Bearer key", "idempotency-key": expect.stringMatching(/\w{16}/) },
      body: { email: "ada@shop.example", cents: 1990, visitor: "s1" },
    },
  ]);
  isLost = true;
  const dead = new Promise((resolve) => tracker.on("dead", resolve));
  await report("s2");
  expect(await dead).toMatchObject({ reason: "unconfirmed" });
});
