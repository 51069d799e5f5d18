import type { Gateway, Told } from "express-affiliate/gateways";
import * as gateways from "express-affiliate/gateways";

/** What a gateway is to tell of a payment. Amounts are in minor units of `currency`. */
export interface Paid {
  readonly id: string;
  readonly minor: number;
  readonly currency?: string;
  readonly customer?: string;
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
  readonly fields: {
    readonly type: string;
    readonly amount: string;
    readonly currency: string;
    readonly id: string;
  };
  /** What an event of it does not have. */
  readonly lacks?: readonly ("email" | "affiliate")[];
}

const decimal = (minor: number) => (minor / 100).toFixed(2);
const id = "1";
const paid: Paid = { id, minor: 1_990, currency: "EUR" };

const stripe = {
  charge: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    id,
    object: "charge",
    amount: minor,
    amount_captured: minor,
    amount_refunded: 0,
    captured: true,
    currency: currency.toLowerCase(),
    customer: customer ?? null,
    billing_details: { address: null, email: email ?? null, name: null, phone: null, tax_id: null },
    receipt_email: null,
    metadata: affiliate === undefined ? {} : { affiliate },
    payment_intent: `pi_${id}`,
    refunded: false,
    status: "succeeded",
    ...fields,
  }),
  event: (type: string, object: object) => ({
    id: "evt_1",
    object: "event",
    api_version: "2026-10-28.endive",
    created: 1_795_000_000,
    data: { object },
    livemode: false,
    type,
  }),
};

const paypal = {
  event: (event_type: string, resource: object) => ({
    id: "WH-1",
    event_version: "1.0",
    resource_version: "2.0",
    event_type,
    resource,
  }),
  capture: ({ id, minor, currency = "EUR", customer, affiliate }: Paid) => ({
    id,
    amount: { value: decimal(minor), currency_code: currency },
    final_capture: true,
    ...(affiliate !== undefined && { custom_id: affiliate }),
    supplementary_data: { related_ids: { ...(customer !== undefined && { order_id: customer }) } },
    status: "COMPLETED",
    links: [{ rel: "self", method: "GET", href: `https://api.paypal.com/v2/payments/captures/${id}` }],
  }),
};

const paddle = {
  event: (event_type: string, data: object) => ({
    event_id: "evt_1",
    event_type,
    occurred_at: "2026-11-01T00:00:00Z",
    notification_id: "ntf_1",
    data,
  }),
  adjustment: ({ id, currency = "EUR" }: Paid, { nth, minor, soFar }: Returned, fields = {}) => ({
    id: `adj_${nth}`,
    action: "refund",
    type: minor === soFar && minor === 1_990 ? "full" : "partial",
    transaction_id: id,
    currency_code: currency,
    status: "approved",
    totals: { subtotal: String(minor), tax: "0", total: String(minor), currency_code: currency },
    ...fields,
  }),
};

const lemonSqueezy = {
  event: (event_name: string, { id, affiliate }: Paid, attributes: object, type = "orders") => ({
    meta: { event_name, test_mode: true, ...(affiliate !== undefined && { custom_data: { affiliate } }) },
    data: { type, id, attributes },
  }),
  order: ({ minor, currency = "EUR", customer, email }: Paid, fields = {}) => ({
    store_id: 1,
    customer_id: customer ?? null,
    user_email: email ?? null,
    currency,
    currency_rate: "1.25",
    total: minor,
    total_usd: Math.round(minor * 1.25),
    refunded: false,
    refunded_amount: 0,
    refunded_amount_usd: 0,
    status: "paid",
    ...fields,
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

const mollie = {
  payment: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    resource: "payment",
    id,
    mode: "test",
    status: "paid",
    amount: { currency, value: decimal(minor) },
    amountRefunded: { currency, value: "0.00" },
    ...(customer !== undefined && { customerId: customer }),
    ...(email !== undefined && { billingAddress: { email } }),
    metadata: affiliate === undefined ? null : { affiliate },
    ...fields,
  }),
};

const razorpay = {
  event: (event: string, payload: object) => ({
    entity: "event",
    account_id: "acc_1",
    event,
    contains: Object.keys(payload),
    payload: Object.fromEntries(Object.entries(payload).map(([name, entity]) => [name, { entity }])),
  }),
  payment: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    id,
    entity: "payment",
    amount: minor,
    currency,
    status: "captured",
    captured: true,
    amount_refunded: 0,
    refund_status: null,
    email: email ?? null,
    ...(customer !== undefined && { customer_id: customer }),
    notes: affiliate === undefined ? [] : { affiliate },
    ...fields,
  }),
};

const square = {
  event: (type: string, name: string, object: object) => ({
    merchant_id: "m1",
    type,
    event_id: "e1",
    data: { type: name, id: "1", object: { [name]: object } },
  }),
  payment: ({ id, minor, currency = "EUR", customer, email }: Paid, fields = {}) => ({
    id,
    status: "COMPLETED",
    amount_money: { amount: minor, currency },
    total_money: { amount: minor + 200, currency },
    ...(customer !== undefined && { customer_id: customer }),
    ...(email !== undefined && { buyer_email_address: email }),
    ...fields,
  }),
};

const adyen = {
  item: ({ id, minor, currency = "EUR", customer, email, affiliate }: Paid, fields = {}) => ({
    additionalData: {
      ...(customer !== undefined && { "recurring.shopperReference": customer }),
      ...(email !== undefined && { shopperEmail: email }),
      ...(affiliate !== undefined && { "metadata.affiliate": affiliate }),
    },
    amount: { currency, value: minor },
    eventCode: "AUTHORISATION",
    eventDate: "2026-11-01T00:00:00+01:00",
    merchantAccountCode: "Shop",
    ...(customer === undefined && { merchantReference: "" }),
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
      stripe.event("charge.dispute.created", {
        id: "dp_1",
        object: "dispute",
        amount: minor,
        charge: id,
        currency: currency.toLowerCase(),
      }),
    notTaken: [
      stripe.event("charge.succeeded", stripe.charge(paid, { captured: false, amount_captured: 0 })),
      stripe.event("charge.refunded", stripe.charge(paid, { captured: false, amount_captured: 0 })),
      stripe.event("invoice.paid", { id: "in_1", object: "invoice", amount_paid: 1_990 }),
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
        seller_payable_breakdown: {
          total_refunded_amount: { value: decimal(soFar), currency_code: currency },
        },
        status: "COMPLETED",
        links: [
          { rel: "self", method: "GET", href: `https://api.paypal.com/v2/payments/refunds/R${nth}` },
          { rel: "up", method: "GET", href: `https://api.paypal.com/v2/payments/captures/${id}` },
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
        status: "completed",
        customer_id: customer ?? null,
        custom_data: affiliate === undefined ? null : { affiliate },
        currency_code: currency,
        details: { totals: { total: String(minor), grand_total: String(minor), currency_code: currency } },
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
    sale: (paid) => lemonSqueezy.event("order_created", paid, lemonSqueezy.order(paid)),
    refund: (paid, { soFar }) =>
      lemonSqueezy.event(
        "order_refunded",
        paid,
        lemonSqueezy.order(paid, {
          refunded_amount: soFar,
          status: soFar === paid.minor ? "refunded" : "partial_refund",
        }),
      ),
    notTaken: [
      lemonSqueezy.event("order_created", paid, lemonSqueezy.order(paid, { status: "pending" })),
      ...["subscription_payment_success", "subscription_payment_refunded"].map((event) =>
        lemonSqueezy.event(
          event,
          paid,
          lemonSqueezy.order(paid, { billing_reason: "initial" }),
          "subscription-invoices",
        ),
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
      timestamp: "2026-11-01T00:00:00Z",
      dispute: {
        id: "d1",
        amountDisputed: decimal(minor),
        currencyIsoCode: currency,
        transaction: { id, amount: decimal(minor) },
      },
    }),
    notTaken: [
      ...["authorized", "processor_declined", "failed", "settlement_declined"].map((status) =>
        braintree.transaction(paid, { status }),
      ),
      ...["processor_declined", "gateway_rejected", "failed", "settlement_declined", "voided"].map((status) =>
        braintree.transaction(paid, { type: "credit", refundedTransactionId: "p1", status }),
      ),
      { kind: "check", timestamp: "2026-11-01T00:00:00Z", check: true },
      braintree.transaction(paid, { type: "credit" }),
    ],
    fields: { type: "type", id: "id", amount: "amount", currency: "currencyIsoCode" },
  },
  mollie: {
    read: gateways.mollie,
    sale: (paid) => mollie.payment(paid),
    refund: (paid, { soFar }) =>
      mollie.payment(paid, { amountRefunded: { currency: paid.currency ?? "EUR", value: decimal(soFar) } }),
    dispute: (paid) =>
      mollie.payment(paid, {
        amountChargedBack: { currency: paid.currency ?? "EUR", value: decimal(paid.minor) },
      }),
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
        refund: {
          id: `rfnd_${nth}`,
          entity: "refund",
          amount: minor,
          currency: paid.currency ?? "EUR",
          payment_id: paid.id,
          notes: [],
          status: "processed",
        },
        payment: razorpay.payment(paid, {
          amount_refunded: soFar,
          refund_status: soFar === paid.minor ? "full" : "partial",
        }),
      }),
    dispute: ({ id, minor, currency = "EUR" }) =>
      razorpay.event("payment.dispute.created", {
        dispute: { id: "disp_1", entity: "dispute", payment_id: id, amount: minor, currency },
      }),
    notTaken: [
      razorpay.event("payment.authorized", { payment: razorpay.payment(paid, { status: "authorized" }) }),
      razorpay.event("payment.failed", { payment: razorpay.payment(paid, { status: "failed" }) }),
      razorpay.event("refund.created", {}),
    ],
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
        state: "INQUIRY_EVIDENCE_REQUIRED",
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
