import type { Express } from "express";
import { memoryOutbox } from "express-affiliate";
import type { Gateway, Refund } from "express-affiliate/gateways";
import * as gateways from "express-affiliate/gateways";
import { mysqlOutbox } from "express-affiliate/mysql";
import fc from "fast-check";
import Stripe from "stripe";
import { describe, expect, it } from "vitest";
import { createShop } from "../frameworks/gateways/payments.js";
import { eachExpress, serve } from "../helpers/express.js";
import { forAny, times } from "../helpers/for-any.js";
import { DAY_MS } from "../helpers/times.js";
import { trackerWithService } from "../helpers/tracker.js";
import { bodies, everyGateway, type Paid, parts } from "./bodies.js";

const SECRET = "whsec_of_the_test";
const stripe = new Stripe("sk_test_1");
const snapshot = { clickId: "c1", sessionId: "s1" };
const ada = { email: "ada@shop.example", affiliate: snapshot };
const paid: Paid = { id: "ch_1", minor: 1_990, customer: "cus_1" };

interface Req {
  readonly body: Buffer;
  get(name: string): string | undefined;
}

/** The shop of docs/payments.md, and how its gateway posts to it. */
async function startShop({
  express = eachExpress[1].express as () => Express,
  gateway = "stripe" as Gateway,
  windowMs = 14 * DAY_MS,
  outbox = memoryOutbox(),
} = {}) {
  const { tracker, posted } = await trackerWithService({ outbox });
  const verified =
    gateway === "stripe"
      ? async (req: Req) =>
          stripe.webhooks.constructEvent(req.body, req.get("stripe-signature") ?? "", SECRET)
      : async ({ body }: Req) => JSON.parse(String(body));
  const { read } = bodies[gateway];
  const shop = createShop({ express, tracker, verified, read, windowMs });
  const { port } = await serve(shop.app as Express);
  /** Signed as Stripe signs; resolves with the answer's status. */
  async function post(event: object, signature?: string): Promise<number> {
    const payload = JSON.stringify(event);
    const signed = signature ?? stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET });
    const headers = { "content-type": "application/json", "stripe-signature": signed };
    const url = `http://127.0.0.1:${port}/webhooks/payments`;
    const { status } = await fetch(url, { method: "POST", headers, body: payload });
    return status;
  }
  shop.users.set("cus_1", ada);
  /** What is left for a person to correct. */
  const left = () => [...shop.corrections.values()].filter(({ isWithdrawn }) => !isWithdrawn);
  return { ...shop, left, tracker, posted, post };
}

const { charge, event } = parts.stripe;
const sold = (fields: Partial<Paid> = {}) => bodies.stripe.sale({ ...paid, ...fields });
const returned = (soFar: number) => bodies.stripe.refund(paid, { nth: soFar, minor: soFar, soFar });

describe.each(eachExpress)("$name: the recipe", ({ express }) => {
  const start = (options = {}) => startShop({ express: express as () => Express, ...options });

  it("reports a payment of the customer's affiliate, once, however often the webhook comes", async () => {
    const { post, posted, tracker } = await start({ windowMs: 0 });
    expect(await Promise.all([post(sold()), post(sold()), post(sold())])).toEqual([204, 204, 204]);
    await tracker.flush();
    expect(posted).toMatchObject([{ body: { customerEmail: ada.email, leadValue: 19.9, sessionId: "s1" } }]);
  });

  it("answers 400 to what the gateway did not sign, and 500 through `next` to what cannot be read", async () => {
    const { post, tracker } = await start();
    const wrong = stripe.webhooks.generateTestHeaderString({ payload: "{}", secret: SECRET });
    expect(await post(sold(), wrong)).toBe(400);
    expect(await post(sold(), "")).toBe(400);
    expect(await post(event("charge.succeeded", charge(paid, { currency: "xyz" })))).toBe(500);
    expect(await post(event("customer.created", {}))).toBe(204);
    expect(tracker.stats().queued).toBe(0);
  });

  it("answers 500 if the payment was not stored, or in memory alone, so that the webhook comes again", async () => {
    const { post, tracker } = await start();
    await tracker.close();
    expect(await post(sold())).toBe(500);
    const pool = { getConnection: () => Promise.reject(new Error("no server")) };
    const failing = await start({ outbox: mysqlOutbox({ pool }) });
    for (let nth = 0; nth < 2; nth++) expect(await failing.post(sold())).toBe(500);
  });
});

const ids = gateways.metadata(snapshot).affiliate as string;
const nobody = { clickId: null, sessionId: null };
const without = { ...paid, customer: undefined, affiliate: ids };

describe("the recipe", () => {
  it.each<[string, object, Partial<Paid>, object]>([
    ["of the customer's snapshot, whatever the metadata has", ada, { affiliate: '{"sessionId":"s2"}' }, {}],
    ["of the metadata if the snapshot is null", { ...ada, affiliate: null }, { affiliate: ids }, {}],
    ["of the metadata if the snapshot is empty", { ...ada, affiliate: {} }, { affiliate: ids }, {}],
    ["of the metadata if the row's columns are null", { ...ada, affiliate: nobody }, { affiliate: ids }, {}],
    [
      "of the metadata, and the payment's address, without a customer",
      ada,
      { ...without, email: "bo@shop.example" },
      { customerEmail: "bo@shop.example" },
    ],
    ["in euros, from dollars", ada, { minor: 2_500, currency: "USD" }, { leadValue: 20 }],
    ["in euros, from yen", ada, { minor: 1_600, currency: "JPY" }, { leadValue: 10 }],
    ["in euros, from dinars", ada, { minor: 3_200, currency: "KWD" }, { leadValue: 10 }],
  ])("reports a payment with the ids %s", async (_, user, fields, expected) => {
    const { post, posted, users, tracker } = await startShop({ windowMs: 0 });
    users.set("cus_1", user as typeof ada);
    expect(await post(sold(fields))).toBe(204);
    await tracker.flush();
    expect(posted).toMatchObject([{ body: { customerEmail: ada.email, sessionId: "s1", ...expected } }]);
  });

  it("keeps a guest's payment without any address for a person, who reports it with one; its webhook comes no more", async () => {
    const { post, invalid, report, tracker } = await startShop();
    expect(await post(sold(without))).toBe(204);
    const { payment, ...rest } = invalid.get("ch_1");
    expect(await report({ ...rest, payment: { ...payment, customerEmail: "bo@shop.example" } })).toBe(204);
    expect(tracker.stats().queued).toBe(1);
  });

  it("keeps a payment before the event that links its customer, and reports it then", async () => {
    const { post, users, unlinked, report, tracker } = await startShop();
    expect(await post(sold({ customer: "cus_2" }))).toBe(204);
    expect(tracker.stats().queued).toBe(0);
    users.set("cus_2", ada);
    expect(await report(unlinked.get("ch_1"))).toBe(204);
    expect(tracker.stats().queued).toBe(1);
  });

  it("leaves nothing to correct after a partial and then a full refund of a payment that waits", async () => {
    const { post, left, tracker } = await startShop();
    await post(sold());
    await post(returned(500));
    expect(left()).toMatchObject([{ amount: 5, currency: "EUR" }]);
    await post(returned(1_990));
    expect(left()).toEqual([]);
    expect(tracker.stats().queued).toBe(0);
  });

  it("reports nothing of a customer who has ids in neither", async () => {
    const { post, users, tracker, corrections } = await startShop();
    users.set("cus_1", { ...ada, affiliate: null });
    expect(await post(sold())).toBe(204);
    users.set("cus_1", ada); // an affiliate brought them later
    expect(await post(sold())).toBe(204);
    expect(await post(returned(500))).toBe(204);
    expect(tracker.stats()).toMatchObject({ queued: 0, skipped: { "no-attribution": 1 } });
    expect(corrections.size).toBe(0);
  });

  it("lists a dispute for a person, and leaves the payment alone", async () => {
    const { post, left, tracker } = await startShop();
    await post(sold());
    await post(bodies.stripe.dispute?.(paid) ?? {});
    expect(left()).toMatchObject([{ amount: 0, isDisputed: true }]);
    expect(tracker.stats().queued).toBe(1);
  });
});

/** A shop whose outbox knows no payment again after the next, as others do not after `rememberMs`. */
async function startForgetful(gateway: Gateway, windowMs: number) {
  const shop = await startShop({ gateway, windowMs, outbox: memoryOutbox({ maxEvents: 1 }) });
  /** Waits until the payment was sent or cancelled; then nothing of it is left in the outbox. */
  async function forget() {
    await expect.poll(() => shop.tracker.stats().queued).toBe(0);
    const other = { paymentId: "other", customerEmail: ada.email, leadValue: 1 };
    expect(await shop.tracker.trackPayment(other, snapshot)).toMatchObject({ outcome: "queued" });
    await shop.tracker.flush();
    expect(await shop.tracker.cancelPayment(paid.id)).toBe("unknown");
  }
  return { ...shop, forget };
}

describe("a payment whose id the outbox has forgotten", () => {
  const refunded = (value: string) => (sale: object) => ({
    ...sale,
    amountRefunded: { currency: "EUR", value },
  });
  it.each<[string, Gateway, (sale: object) => object, object[]]>([
    ["Mollie's partial refund", "mollie", refunded("5.00"), [{ amount: 5, isFull: false }]],
    ["Mollie's full refund", "mollie", refunded("19.90"), [{ amount: 19.9, isFull: true }]],
    ["Mollie's chargeback", "mollie", () => bodies.mollie.dispute?.(paid) ?? {}, [{ isDisputed: true }]],
    ["Square's `payment.updated`", "square", (sale) => sale, []],
  ])("is not reported again for %s", async (_, gateway, later, expected) => {
    const { post, forget, left, tracker } = await startForgetful(gateway, 300);
    const sale = bodies[gateway].sale(paid);
    await post(sale);
    await forget();
    expect(await post(later(sale))).toBe(204);
    expect(tracker.stats().queued).toBe(0);
    expect(left()).toMatchObject(expected);
    expect(left()).toHaveLength(expected.length);
  });

  it("stays withdrawn if a dispute follows its refund", async () => {
    const { post, forget, corrections, left } = await startForgetful("stripe", DAY_MS);
    await post(sold());
    await post(returned(1_990));
    await forget();
    await post(bodies.stripe.dispute?.(paid) ?? {});
    expect(corrections.get("ch_1")).toMatchObject({ isDisputed: true, isWithdrawn: true });
    expect(left()).toEqual([]);
  });
});

const PARTS = [
  { nth: 1, minor: 500, soFar: 500 },
  { nth: 2, minor: 700, soFar: 1_200 },
  { nth: 3, minor: 790, soFar: 1_990 },
] as const;

/** The events in any order, some of them repeated. */
const anyOrder = <Event>(events: readonly Event[]) =>
  fc
    .tuple(
      fc.shuffledSubarray([...events], { minLength: events.length }),
      fc.array(fc.constantFrom(...events), { maxLength: 3 }),
    )
    .map(([all, again]) => [...all, ...again]);

describe.each(everyGateway)("refunds of %s", (gateway) => {
  const { read, refund, sale, prefix = "" } = bodies[gateway];
  const payment = { paymentId: prefix + paid.id, leadValue: 19.9 };
  const events = PARTS.map((part) => read(refund(paid, part)) as Refund);

  it("have the sale's id, and come to one sum in any order, however often each is told", () => {
    for (const { paymentId } of events) expect(paymentId).toBe(payment.paymentId);
    for (const [count, amount, isFull] of [
      [1, 5, false],
      [2, 12, false],
      [3, 19.9, true],
    ] as const)
      forAny(anyOrder(events.slice(0, count)), (told) => {
        expect(gateways.refunded(payment, told)).toEqual({ amount, isFull, isDisputed: false });
      });
  });

  it("leave the shop in one state, whenever the sale comes and in whatever order they do", async () => {
    const all = [sale(paid), ...PARTS.map((part) => refund(paid, part))];
    await times(6).forAnyAsync(anyOrder(all), fc.boolean(), async (webhooks, isWindow) => {
      const shop = await startShop({ gateway, windowMs: isWindow ? DAY_MS : 0 });
      for (const id of ["cus_1", undefined]) shop.users.set(id, ada);
      for (const webhook of webhooks) expect(await shop.post(webhook)).toBe(204);
      const { left, tracker } = shop;
      expect(await tracker.cancelPayment(payment.paymentId)).toBe(isWindow ? "cancelled" : "sent");
      expect(left()).toMatchObject(isWindow ? [] : [{ amount: 19.9, isDisputed: false }]);
      expect(tracker.stats().scheduled?.count ?? 0).toBe(0);
    });
  });
});
