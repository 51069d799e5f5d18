import type { Gateway, Told } from "express-affiliate/gateways";
import * as gateways from "express-affiliate/gateways";

/** What a gateway is to tell of a payment. Amounts are in minor units of `currency`. */
export interface Paid {
  readonly id: string;
  readonly minor: number;
  readonly currency?: string;
  readonly customer?: string | undefined;
  readonly email?: string;
  /** What `metadata` wrote. */
  readonly affiliate?: string;
}

/** A refund of it, of which the gateway says what it says. */
export interface Returned {
  readonly nth: number;
  readonly minor: number;
  readonly soFar: number;
}

/** Bodies with the fields and types of a gateway's documentation. */
export interface Bodies {
  readonly read: (given: unknown) => Told;
  /** What the id of the sale and of its refunds begins with, before that of the gateway. */
  readonly prefix?: string;
  readonly sale: (paid: Paid) => object;
  readonly refund: (paid: Paid, returned: Returned) => object;
  readonly dispute?: (paid: Paid) => object;
  /** Authorised, pending, failed or a test: not a sale. */
  readonly notTaken: readonly object[];
  /** Where the event's type and its amount stand. */
  readonly fields: Readonly<Record<"type" | "amount" | "currency" | "id", string>>;
  /** What an event of it does not have. */
  readonly lacks?: readonly ("email" | "affiliate")[];
}

const decimal = (minor: number) => (minor / 100).toFixed(2);
const id = "1";
const paid: Paid = { id, minor: 1_990, currency: "EUR" };

const stripe = {
  charge: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    id,
    amount: minor,
    amount_captured: minor,
    amount_refunded: 0,
    captured: true,
    currency: currency.toLowerCase(),
    customer: customer ?? null,
    billing_details: { email: email ?? null },
    metadata: affiliate === undefined ? {} : { affiliate },
    ...fields,
  }),
  event: (type: string, object: object) => ({ api_version: "2026-10-28.endive", data: { object }, type }),
};

const paypal = {
  event: (event_type: string, resource: object) => ({ event_type, resource }),
  capture: ({ id, minor, currency = "EUR", customer, affiliate }: Paid) => ({
    id,
    amount: { value: decimal(minor), currency_code: currency },
    custom_id: affiliate,
    supplementary_data: { related_ids: { order_id: customer } },
  }),
};

const paddle = {
  event: (event_type: string, data: object) => ({ event_type, data }),
  adjustment: ({ id, currency = "EUR" }: Paid, { nth, minor, soFar }: Returned, fields = {}) => ({
    id: `adj_${nth}`,
    action: "refund",
    type: minor === soFar && minor === 1_990 ? "full" : "partial",
    transaction_id: id,
    currency_code: currency,
    status: "approved",
    totals: { total: String(minor) },
    ...fields,
  }),
};

const lemonSqueezyOrder = ({ minor, currency = "EUR", customer, email }: Paid, fields: object) => ({
  customer_id: customer ?? null,
  user_email: email ?? null,
  currency,
  total: minor,
  total_usd: Math.round(minor * 1.25),
  status: "paid",
  ...fields,
});

const lemonSqueezy = {
  event: (event_name: string, paid: Paid, fields = {}, type = "orders") => ({
    meta: { event_name, ...(paid.affiliate !== undefined && { custom_data: { affiliate: paid.affiliate } }) },
    data: { type, id: paid.id, attributes: lemonSqueezyOrder(paid, fields) },
  }),
};

const braintree = {
  transaction: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    id,
    type: "sale",
    status: "submitted_for_settlement",
    amount: decimal(minor),
    currencyIsoCode: currency,
    customer: { id: customer ?? null, email: email ?? null },
    customFields: affiliate === undefined ? "" : { affiliate },
    refundedTransactionId: null,
    ...fields,
  }),
};

const mollieAmount = ({ currency = "EUR" }: Paid, minor: number) => ({ currency, value: decimal(minor) });

const mollie = {
  payment: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    resource: "payment",
    id,
    status: "paid",
    amount: { currency, value: decimal(minor) },
    amountRefunded: { currency, value: "0.00" },
    customerId: customer,
    billingAddress: { email },
    metadata: affiliate === undefined ? null : { affiliate },
    ...fields,
  }),
};

const razorpay = {
  event: (event: string, payload: object) => ({
    event,
    payload: Object.fromEntries(Object.entries(payload).map(([name, entity]) => [name, { entity }])),
  }),
  payment: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    id,
    amount: minor,
    currency,
    email: email ?? null,
    customer_id: customer,
    notes: affiliate === undefined ? [] : { affiliate },
    ...fields,
  }),
};

const square = {
  event: (type: string, name: string, object: object) => ({ type, data: { object: { [name]: object } } }),
  payment: ({ id, minor, currency = "EUR", customer, email }: Paid, fields = {}) => ({
    id,
    status: "COMPLETED",
    amount_money: { amount: minor, currency },
    total_money: { amount: minor + 200, currency },
    customer_id: customer,
    buyer_email_address: email,
    ...fields,
  }),
};

const adyen = {
  item: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    additionalData: {
      "recurring.shopperReference": customer,
      shopperEmail: email,
      "metadata.affiliate": affiliate,
    },
    amount: { currency, value: minor },
    eventCode: "AUTHORISATION",
    pspReference: id,
    success: "true",
    ...fields,
  }),
};

export const bodies: Record<Gateway, Bodies> = {
  stripe: {
    read: gateways.stripe,
    sale: (paid) => stripe.event("charge.succeeded", stripe.charge(paid)),
    refund: (paid, { soFar }) =>
      stripe.event(
        "charge.refunded",
        stripe.charge(paid, { amount_refunded: soFar, refunded: soFar === paid.minor }),
      ),
    dispute: ({ id, minor, currency = "EUR" }) =>
      stripe.event("charge.dispute.created", { id: "dp_1", amount: minor, charge: id, currency }),
    notTaken: [
      stripe.event("charge.succeeded", stripe.charge(paid, { captured: false, amount_captured: 0 })),
      stripe.event("charge.refunded", stripe.charge(paid, { captured: false, amount_captured: 0 })),
      stripe.event("invoice.paid", { id: "in_1", amount_paid: 1_990 }),
    ],
    fields: {
      type: "type",
      id: "data.object.id",
      amount: "data.object.amount_captured",
      currency: "data.object.currency",
    },
  },
  paypal: {
    read: gateways.paypal,
    sale: (paid) => paypal.event("PAYMENT.CAPTURE.COMPLETED", paypal.capture(paid)),
    refund: ({ id, currency = "EUR" }, { nth, minor, soFar }) =>
      paypal.event("PAYMENT.CAPTURE.REFUNDED", {
        id: `R${nth}`,
        amount: { value: decimal(minor), currency_code: currency },
        seller_payable_breakdown: { total_refunded_amount: { value: decimal(soFar) } },
        links: [
          { rel: "self", href: `https://api.paypal.com/v2/payments/refunds/R${nth}` },
          { rel: "up", href: `https://api.paypal.com/v2/payments/captures/${id}` },
        ],
      }),
    dispute: ({ id, minor, currency = "EUR" }) =>
      paypal.event("CUSTOMER.DISPUTE.CREATED", {
        dispute_id: "PP-D-1",
        disputed_transactions: [{ seller_transaction_id: id }],
        dispute_amount: { currency_code: currency, value: decimal(minor) },
      }),
    notTaken: [
      paypal.event("PAYMENT.CAPTURE.PENDING", paypal.capture(paid)),
      paypal.event("PAYMENT.AUTHORIZATION.CREATED", paypal.capture(paid)),
    ],
    fields: {
      type: "event_type",
      id: "resource.id",
      amount: "resource.amount.value",
      currency: "resource.amount.currency_code",
    },
    lacks: ["email"],
  },
  paddle: {
    read: gateways.paddle,
    sale: ({ id, minor, currency = "EUR", customer, affiliate }) =>
      paddle.event("transaction.completed", {
        id,
        customer_id: customer ?? null,
        custom_data: affiliate === undefined ? null : { affiliate },
        currency_code: currency,
        details: { totals: { grand_total: String(minor) } },
      }),
    refund: (paid, returned) => paddle.event("adjustment.updated", paddle.adjustment(paid, returned)),
    dispute: (paid) =>
      paddle.event(
        "adjustment.created",
        paddle.adjustment(paid, { nth: 9, minor: 1_990, soFar: 1_990 }, { action: "chargeback" }),
      ),
    notTaken: [
      paddle.event("transaction.paid", { id: "txn_1" }),
      ...[{ status: "pending_approval" }, { status: "rejected" }, { action: "credit" }].map((fields) =>
        paddle.event("adjustment.created", paddle.adjustment(paid, { nth: 1, minor: 1, soFar: 1 }, fields)),
      ),
    ],
    fields: {
      type: "event_type",
      id: "data.id",
      amount: "data.details.totals.grand_total",
      currency: "data.currency_code",
    },
    lacks: ["email"],
  },
  lemonSqueezy: {
    read: gateways.lemonSqueezy,
    prefix: "orders ",
    sale: (paid) => lemonSqueezy.event("order_created", paid),
    refund: (paid, { soFar }) =>
      lemonSqueezy.event("order_refunded", paid, {
        refunded_amount: soFar,
        status: soFar === paid.minor ? "refunded" : "partial_refund",
      }),
    notTaken: [
      lemonSqueezy.event("order_created", paid, { status: "pending" }),
      ...["subscription_payment_success", "subscription_payment_refunded"].map((event) =>
        lemonSqueezy.event(event, paid, { billing_reason: "initial" }, "subscription-invoices"),
      ),
    ],
    fields: {
      type: "meta.event_name",
      id: "data.id",
      amount: "data.attributes.total",
      currency: "data.attributes.currency",
    },
  },
  braintree: {
    read: gateways.braintree,
    sale: (paid) => braintree.transaction(paid),
    refund: (paid, { nth, minor }) =>
      braintree.transaction(paid, {
        id: `refund${nth}`,
        type: "credit",
        amount: decimal(minor),
        refundedTransactionId: paid.id,
      }),
    dispute: ({ id, minor, currency = "EUR" }) => ({
      kind: "dispute_opened",
      dispute: { id: "d1", amountDisputed: decimal(minor), currencyIsoCode: currency, transaction: { id } },
    }),
    notTaken: [
      ...["authorized", "processor_declined", "failed", "settlement_declined"].map((status) =>
        braintree.transaction(paid, { status }),
      ),
      ...["processor_declined", "gateway_rejected", "failed", "settlement_declined", "voided"].map((status) =>
        braintree.transaction(paid, { type: "credit", refundedTransactionId: "p1", status }),
      ),
      { kind: "check", check: true },
      braintree.transaction(paid, { type: "credit" }),
    ],
    fields: { type: "type", id: "id", amount: "amount", currency: "currencyIsoCode" },
  },
  mollie: {
    read: gateways.mollie,
    sale: (paid) => mollie.payment(paid),
    refund: (paid, { soFar }) => mollie.payment(paid, { amountRefunded: mollieAmount(paid, soFar) }),
    dispute: (paid) => mollie.payment(paid, { amountChargedBack: mollieAmount(paid, paid.minor) }),
    notTaken: ["open", "pending", "authorized", "canceled", "expired", "failed"].map((status) =>
      mollie.payment(paid, { status }),
    ),
    fields: { type: "resource", id: "id", amount: "amount.value", currency: "amount.currency" },
  },
  razorpay: {
    read: gateways.razorpay,
    sale: (paid) => razorpay.event("payment.captured", { payment: razorpay.payment(paid) }),
    refund: (paid, { nth, minor, soFar }) =>
      razorpay.event("refund.processed", {
        refund: { id: `rfnd_${nth}`, amount: minor, currency: paid.currency ?? "EUR", payment_id: paid.id },
        payment: razorpay.payment(paid, {
          amount_refunded: soFar,
          refund_status: soFar === paid.minor ? "full" : "partial",
        }),
      }),
    dispute: ({ id, minor, currency = "EUR" }) =>
      razorpay.event("payment.dispute.created", {
        dispute: { id: "disp_1", payment_id: id, amount: minor, currency },
      }),
    notTaken: ["payment.authorized", "payment.failed", "refund.created", "refund.processed"].map((event) =>
      razorpay.event(event, { payment: razorpay.payment(paid, { captured: false }) }),
    ),
    fields: {
      type: "event",
      id: "payload.payment.entity.id",
      amount: "payload.payment.entity.amount",
      currency: "payload.payment.entity.currency",
    },
  },
  square: {
    read: gateways.square,
    sale: (paid) => square.event("payment.updated", "payment", square.payment(paid)),
    refund: ({ id, currency = "EUR" }, { nth, minor }) =>
      square.event("refund.updated", "refund", {
        id: `r${nth}`,
        status: "COMPLETED",
        payment_id: id,
        amount_money: { amount: minor, currency },
      }),
    dispute: ({ id, minor, currency = "EUR" }) =>
      square.event("dispute.created", "dispute", {
        dispute_id: "d1",
        amount_money: { amount: minor, currency },
        disputed_payment: { payment_id: id },
      }),
    notTaken: [
      ...["APPROVED", "PENDING", "CANCELED", "FAILED"].map((status) =>
        square.event("payment.updated", "payment", square.payment(paid, { status })),
      ),
      square.event("refund.created", "refund", { id: "r1", status: "PENDING", payment_id: "1" }),
      square.event("refund.updated", "refund", { id: "r1", status: "COMPLETED", unlinked: true }),
    ],
    fields: {
      type: "type",
      id: "data.object.payment.id",
      amount: "data.object.payment.amount_money.amount",
      currency: "data.object.payment.amount_money.currency",
    },
    lacks: ["affiliate"],
  },
  adyen: {
    read: (given) => gateways.adyen(given, { capture: "automatic" }),
    sale: (paid) => adyen.item(paid),
    refund: (paid, { nth, minor }) =>
      adyen.item({ ...paid, minor, id: `refund${nth}` }, { eventCode: "REFUND", originalReference: paid.id }),
    dispute: (paid) =>
      adyen.item({ ...paid, id: "chargeback1" }, { eventCode: "CHARGEBACK", originalReference: paid.id }),
    notTaken: [
      adyen.item(paid, { success: "false" }),
      adyen.item(paid, { eventCode: "REFUND", originalReference: id, success: "false" }),
      adyen.item(paid, { eventCode: "CAPTURE", originalReference: id }),
      adyen.item(paid, { pspReference: "test_AUTHORISATION_1" }),
      adyen.item(paid, { eventCode: "REPORT_AVAILABLE" }),
    ],
    fields: { type: "eventCode", id: "pspReference", amount: "amount.value", currency: "amount.currency" },
  },
};

export const everyGateway = Object.keys(bodies) as Gateway[];

/** The parts of bodies, for what a single gateway does. */
export const parts = { stripe, paypal, paddle, lemonSqueezy, braintree, mollie, razorpay, square, adyen };

/** Whose amounts are decimal texts. */
export const inMajorUnits: readonly Gateway[] = ["paypal", "braintree", "mollie"];

/** A copy of an event whose field has another value; without the field if that is undefined. */
export function withField(event: object, path: string, value: unknown): object {
  const copy = structuredClone(event);
  const names = path.split(".");
  const last = names.pop() as string;
  // biome-ignore lint/suspicious/noExplicitAny: any field of any event.
  const parent = names.reduce((at: any, name) => at[name], copy);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}
