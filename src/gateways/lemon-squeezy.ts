import { decimalsIn } from "./amounts.js";
import { Fields } from "./fields.js";
import { refundOf, type Told } from "./told.js";

/**
 * Reads a webhook of Lemon Squeezy (API version 1): its parsed body, once its `X-Signature` is
 * verified.
 *
 * | event | gives |
 * | --- | --- |
 * | `order_created` | a sale, also of a subscription's first payment |
 * | `subscription_payment_success` | a sale, unless its `billing_reason` is `initial` |
 * | `order_refunded`, `subscription_payment_refunded` | a refund, with the sum so far |
 *
 * The id is `orders 1` or `subscription-invoices 1`, because both count from 1. Amounts are in
 * hundredths. If a currency has none, the amount is the one that Lemon Squeezy gives in US dollars.
 */
export function lemonSqueezy(given: unknown): Told {
  const { type, event } = Fields.of("lemonSqueezy", given, "meta.event_name");
  const order = event.at("data.attributes");
  // The first payment of a subscription is an order, too.
  if (!type.startsWith("order_") && order.get("billing_reason") === "initial") return undefined;
  if (type === "order_created" || type === "subscription_payment_success") return sale(event, order);
  if (type === "order_refunded" || type === "subscription_payment_refunded") return refund(event, order);
  return undefined;
}

const ORDER = {
  id: "data.id",
  currency: "data.attributes.currency",
  email: "data.attributes.user_email",
  customer: "data.attributes.customer_id",
  affiliate: "meta.custom_data.affiliate",
};

const idOf = (event: Fields) => `${event.text("data.type")} ${event.id("data.id")}`;

/** The currency of an order's amounts, and how their fields' names end. */
function unitOf(order: Fields): [currency: string, end: string] {
  const currency = order.currency("currency");
  return decimalsIn(currency) === 2 ? [currency, ""] : ["USD", "_usd"];
}

function sale(event: Fields, order: Fields): Told {
  // Neither pending, nor failed, nor fraudulent. A subscription's payment has no such status.
  if (!["paid", "refunded", "partial_refund"].includes(order.text("status"))) return undefined;
  const [currency, end] = unitOf(order);
  const amount = `data.attributes.total${end}`;
  return event.sale({ ...ORDER, amount }, { paymentId: idOf(event), currency });
}

function refund(event: Fields, order: Fields): Told {
  const [currency, end] = unitOf(order);
  // Lemon Squeezy told no amount before it had partial refunds.
  const hasAmount = order.get("refunded_amount") !== undefined;
  const refundedSoFar = hasAmount ? order.amount(`refunded_amount${end}`, currency) : undefined;
  const isFull = order.get("status") === "refunded";
  return refundOf({ paymentId: idOf(event), refundedSoFar, isFull, currency });
}
