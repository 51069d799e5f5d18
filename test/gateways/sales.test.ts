import type { Refund, Sale, Told } from "express-affiliate/gateways";
import * as gateways from "express-affiliate/gateways";
import { describe, expect, it } from "vitest";
import { bodies, everyGateway, inMajorUnits, parts, withField } from "./bodies.js";

const snapshot = { clickId: "c1", sessionId: "s1" };
const paid = {
  id: "p1",
  minor: 1_990,
  customer: "cus_1",
  email: "ada@shop.example",
  affiliate: JSON.stringify(snapshot),
};
const leadValueOf = (told: unknown) => (told as Sale | undefined)?.payment.leadValue;

/** As libraries rename fields: `currency_code` is `currencyCode`. */
function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== "object" || value === null) return value;
  const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camel(name), camelCased(each)]));
}

describe.each(everyGateway)("%s", (gateway) => {
  const { read, sale, prefix = "", notTaken, lacks = [], fields, dispute } = bodies[gateway];
  const paymentId = `${prefix}p1`;

  it("gives a sale, with what the event has and without what it lacks", () => {
    expect(read(sale(paid))).toEqual({
      type: "payment",
      payment: { paymentId, leadValue: 19.9, ...(!lacks.includes("email") && { customerEmail: paid.email }) },
      currency: "EUR",
      customerId: "cus_1",
      ...(!lacks.includes("affiliate") && { attribution: snapshot }),
    });
    const { id, minor } = paid;
    const payment = { paymentId, leadValue: 19.9 };
    expect(read(sale({ id, minor }))).toStrictEqual({ type: "payment", payment, currency: "EUR" });
  });

  it("reads the fields as the gateway's library may have renamed them", () => {
    expect(read(camelCased(sale(paid)) as object)).toEqual(read(sale(paid)));
  });

  it("ignores metadata of the host's own", () => {
    for (const affiliate of 'ALICE {} { {"clickId":7} ["c1"] {"reference":"ALICE"} {"c":"cart1"}'.split(" "))
      expect(read(sale({ ...paid, affiliate }))).not.toHaveProperty("attribution");
  });

  it("gives nothing for a trial, a coupon of 100 %, what is not captured, a test, and other events", () => {
    expect(read(sale({ ...paid, minor: 0 }))).toBeUndefined();
    for (const event of notTaken) expect(read(event), JSON.stringify(event)).toBeUndefined();
    const other = gateway === "adyen" ? "DONATION" : "customer.created";
    expect(read(withField(sale(paid), fields.type, other))).toBeUndefined();
    // Whatever it lacks: for an error, the gateway would send it again and again.
    const named = (value: unknown, name: string) => ({ [name]: value });
    expect(read(fields.type.split(".").reduceRight<unknown>(named, "another.event"))).toBeUndefined();
  });

  it.skipIf(!dispute)("gives a dispute as a refund that may be won back", () => {
    const told = read((dispute as NonNullable<typeof dispute>)(paid));
    expect(told).toMatchObject({ type: "refund", paymentId, isDispute: true, amount: 19.9, currency: "EUR" });
  });

  it.skipIf(inMajorUnits.includes(gateway))("counts in the currency's own decimals", () => {
    const inDollars = gateway === "lemonSqueezy";
    const valueIn = (currency: string) => leadValueOf(read(sale({ ...paid, minor: 1_000, currency })));
    expect(valueIn("USD")).toBe(10);
    expect(valueIn("JPY")).toBe(inDollars ? 12.5 : 1_000);
    expect(valueIn("KWD")).toBe(inDollars ? 12.5 : 1);
    const amounts = [1_990, "1990", 1_990n].map((amount) =>
      leadValueOf(read(withField(sale(paid), fields.amount, amount))),
    );
    expect(amounts).toEqual([19.9, 19.9, 19.9]);
  });

  it.runIf(inMajorUnits.includes(gateway))("gives the decimal text as it is", () => {
    const leadValueFrom = (text: string) => leadValueOf(read(withField(sale(paid), fields.amount, text)));
    expect(["19.90", "1990", "0.125"].map(leadValueFrom)).toEqual([19.9, 1_990, 0.125]);
  });
});

describe("stripe", () => {
  const { charge, event } = parts.stripe;
  const saleOf = (fields: object) => gateways.stripe(event("charge.captured", charge(paid, fields)));

  it("gives what was captured; the address of the card's owner, otherwise of the receipt; a customer may be expanded", () => {
    expect(saleOf({ amount_captured: 500 })).toMatchObject({ payment: { leadValue: 5 } });
    const receipt = { billing_details: { email: null }, receipt_email: "bo@shop.example" };
    expect(saleOf(receipt)).toMatchObject({ payment: { customerEmail: "bo@shop.example" } });
    expect(saleOf({ customer: { id: "cus_2", object: "customer" } })).toMatchObject({ customerId: "cus_2" });
  });

  it("does not take the rest of a partial capture for a refund, as events before 2025-03-31 have it", () => {
    const captured = { amount: 1_990, amount_captured: 1_000 };
    const refund = (api_version: string, amount_refunded: number, refunded = false) =>
      gateways.stripe({
        ...event("charge.refunded", charge(paid, { ...captured, amount_refunded, refunded })),
        api_version,
      });
    expect(refund("2024-06-20", 990)).toBeUndefined();
    expect(refund("2024-06-20", 1_290)).toMatchObject({ refundedSoFar: 3, isFull: false });
    expect(refund("2026-10-28.endive", 300)).toMatchObject({ refundedSoFar: 3, isFull: false });
    expect(refund("2024-06-20", 1_990, true)).toMatchObject({ refundedSoFar: 10, isFull: true });
  });

  it("refuses a thin event, which has no charge: to take it for nothing of ours would lose every commission", () => {
    for (const name of ["charge.succeeded", "charge.captured", "charge.refunded", "charge.dispute.created"]) {
      const related_object = { id: "p1", type: "charge", url: "/v1/charges/p1" };
      const thin = { id: "evt_1", object: "v2.core.event", type: `v1.${name}`, related_object };
      expect(() => gateways.stripe(thin)).toThrow(
        `affiliate: stripe: v1.${name}: \`data.object.id\` must be a text`,
      );
    }
    expect(gateways.stripe({ object: "v2.core.event", type: "v1.customer.created" })).toBeUndefined();
  });

  it("finds the charge of a dispute if it is expanded", () => {
    const dispute = { id: "dp_1", amount: 500, currency: "eur", charge: charge(paid) };
    const told = gateways.stripe(event("charge.dispute.created", dispute));
    expect(told).toMatchObject({ paymentId: "p1", refundId: "dp_1", amount: 5, isDispute: true });
  });
});

describe("paypal", () => {
  const { event } = parts.paypal;
  const amount = { total: "19.90", currency: "EUR" };

  it("gives a subscription's payment and its refund by the sale's id", () => {
    const sale = { id: "S1", amount, billing_agreement_id: "I-1", custom: paid.affiliate };
    expect(gateways.paypal(event("PAYMENT.SALE.COMPLETED", sale))).toEqual({
      type: "payment",
      payment: { paymentId: "S1", leadValue: 19.9 },
      currency: "EUR",
      customerId: "I-1",
      attribution: snapshot,
    });
    for (const total of ["5.00", "-5.00"]) {
      const refund = { id: "R1", sale_id: "S1", amount: { ...amount, total } };
      const told = gateways.paypal(event("PAYMENT.SALE.REFUNDED", refund));
      expect(told).toMatchObject({ paymentId: "S1", refundId: "R1", amount: 5, isDispute: false });
    }
  });

  it("gives what PayPal has taken back as a refund", () => {
    const { paypal } = bodies;
    const refund = paypal.refund({ ...paid, id: "p1" }, { nth: 1, minor: 1_990, soFar: 1_990 });
    const reversed = withField(refund, "event_type", "PAYMENT.CAPTURE.REVERSED");
    expect(paypal.read(reversed)).toMatchObject({ paymentId: "p1", amount: 19.9, refundedSoFar: 19.9 });
    expect(paypal.read(reversed)).toEqual(paypal.read(refund));
  });

  it("says where it looked for the capture of a refund", () => {
    const refund = { id: "R1", amount: { value: "5.00", currency_code: "EUR" } };
    for (const links of [undefined, {}, [], [{ rel: "up", href: "https://api.paypal.com/v2/payments/1" }]])
      expect(() => gateways.paypal(event("PAYMENT.CAPTURE.REFUNDED", { ...refund, links }))).toThrow(
        "affiliate: paypal: PAYMENT.CAPTURE.REFUNDED: `resource.links` must be a list with",
      );
  });
});

it("lemonSqueezy gives a renewal, whose id is not an order's", () => {
  const event = (name: string, fields = {}) => {
    const invoice = { billing_reason: "renewal", ...fields };
    return gateways.lemonSqueezy(parts.lemonSqueezy.event(name, paid, invoice, "subscription-invoices"));
  };
  const paymentId = "subscription-invoices p1";
  expect(event("subscription_payment_success")).toMatchObject({ payment: { paymentId, leadValue: 19.9 } });
  const refund = { status: "refunded", refunded_amount: undefined };
  expect(event("subscription_payment_refunded", refund)).toStrictEqual({
    type: "refund",
    paymentId,
    isFull: true,
    isDispute: false,
    currency: "EUR",
  });
});

describe("braintree", () => {
  const { transaction } = parts.braintree;

  it("gives the newest transaction of a subscription that was charged", () => {
    const subscription = {
      id: "sub1",
      transactions: [transaction(paid), transaction({ ...paid, id: "old" })],
    };
    const told = gateways.braintree({ kind: "subscription_charged_successfully", subscription });
    expect(told).toMatchObject({ payment: { paymentId: "p1" }, attribution: snapshot });
  });

  it("gives nothing of a subscription's cycle that cost nothing", () => {
    const subscription = { id: "sub1", transactions: [] };
    expect(gateways.braintree({ kind: "subscription_charged_successfully", subscription })).toBeUndefined();
  });

  it("gives a sale that is voided before it is settled as refunded", () => {
    const told = gateways.braintree(transaction(paid, { status: "voided" }));
    expect(told).toMatchObject({ type: "refund", paymentId: "p1", isFull: true });
  });
});

it("square finds a dispute where the library's types have it, too", () => {
  const body = JSON.stringify(bodies.square.dispute?.(paid));
  const renamed = JSON.parse(body.replace('"object":{"dispute":', '"object":{"object":'));
  expect(renamed.data.object).not.toHaveProperty("dispute");
  expect(gateways.square(renamed)).toMatchObject({ paymentId: "p1", refundId: "d1", amount: 19.9 });
});

it("razorpay has no address if its checkout did not ask for one", () => {
  const { event, payment } = parts.razorpay;
  const read = (email: string) =>
    gateways.razorpay(event("payment.captured", { payment: payment({ ...paid, email }) }));
  expect(read("Void@razorpay.com")).not.toHaveProperty("payment.customerEmail");
  expect(read("ada@shop.example")).toHaveProperty("payment.customerEmail", "ada@shop.example");
});

describe("mollie", () => {
  const value = (amount: string) => ({ currency: "EUR", value: amount });

  it("tells of a refund beside a chargeback, which is apart", () => {
    const told = (amountRefunded: string, amountChargedBack: string) =>
      gateways.mollie({
        ...parts.mollie.payment({ ...paid, minor: 10_000 }),
        ...{ amountRefunded: value(amountRefunded), amountChargedBack: value(amountChargedBack) },
      });
    const both = told("80.00", "20.00");
    expect(both).toMatchObject({ isDispute: true, amount: 20, refundedSoFar: 80, isFull: false });
    const payment = { paymentId: "p1", leadValue: 100 };
    const sumOf = (...refunds: Told[]) => gateways.refunded(payment, refunds as Refund[]);
    expect(sumOf(both)).toEqual({ amount: 80, isFull: false, isDisputed: true });
    expect(sumOf(told("0.00", "20.00"), both)).toEqual({ amount: 80, isFull: false, isDisputed: true });
    expect(sumOf(told("0.00", "100.00"))).toEqual({ amount: 0, isFull: false, isDisputed: true });
    expect(sumOf(told("120.00", "0.00"))).toEqual({ amount: 100, isFull: true, isDisputed: false });
    expect(sumOf(told("100.00", "20.00"))).toEqual({ amount: 100, isFull: true, isDisputed: true });
  });

  it("gives what was captured; with a refund, the sale too, because its own webhook may have been lost", () => {
    const fields = { amountCaptured: value("15.00"), amountRefunded: value("5.00") };
    expect(gateways.mollie(parts.mollie.payment(paid, fields))).toMatchObject({
      type: "refund",
      refundedSoFar: 5,
      isFull: false,
      sale: { type: "payment", payment: { paymentId: "p1", leadValue: 15 } },
    });
  });
});

describe("adyen", () => {
  const { item } = parts.adyen;
  const captured = item({ ...paid, id: "capture1" }, { eventCode: "CAPTURE", originalReference: "p1" });
  const about = (eventCode: string) => item({ ...paid, id: "m1" }, { eventCode, originalReference: "p1" });

  it("gives a sale once it is captured, if captures are manual", () => {
    const manual = { capture: "manual" } as const;
    expect(gateways.adyen(item(paid), manual)).toBeUndefined();
    expect(gateways.adyen(captured, manual)).toMatchObject({ payment: { paymentId: "p1", leadValue: 19.9 } });
    expect(gateways.adyen(about("CANCELLATION"), manual)).toBeUndefined();
  });

  it.each(["CANCEL_OR_REFUND", "CAPTURE_FAILED", "CANCELLATION"])("gives a full refund for %s", (code) => {
    const told = gateways.adyen(about(code), { capture: "automatic" });
    expect(told).toMatchObject({ type: "refund", paymentId: "p1", refundId: "m1", isFull: true });
  });

  it("must be told how it captures", () => {
    const refusal = 'adyen: `capture` must be "automatic" or "manual", got undefined';
    expect(() => gateways.adyen(item(paid), {} as never)).toThrow(refusal);
    expect(() => gateways.adyen(item(paid), undefined as never)).toThrow(refusal);
  });

  it("has the host's own reference if it names no shopper", () => {
    const { customer: _, ...guest } = paid;
    const told = gateways.adyen(item(guest, { merchantReference: "order-1" }), { capture: "automatic" });
    expect(told).toMatchObject({ customerId: "order-1" });
  });
});
