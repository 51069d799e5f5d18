import { decimalsIn } from "./amounts.js";
import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

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
  const isOrder = type.startsWith("order_");
  const data = event.at("data");
  // The first payment of a subscription is an order, too.
  if (!isOrder && data.get("attributes.billing_reason") === "initial") return undefined;
  if (type === "order_created" || type === "subscription_payment_success") return sale(event);
  if (type === "order_refunded" || type === "subscription_payment_refunded") return refund(data);
  return undefined;
}

function sale(event: Fields): Told {
  const order = event.at("data.attributes");
  // Neither pending, nor failed, nor fraudulent. A subscription's payment has no such status.
  if (!["paid", "refunded", "partial_refund"].includes(order.text("status"))) return undefined;
  const { currency, amount } = amountsOf(order);
  return saleOf({
    paymentId: idOf(event.at("data")),
    amount: amount("total"),
    currency,
    customerEmail: order.maybe("user_email"),
    customerId: order.maybe("customer_id"),
    attribution: event.snapshot("meta.custom_data.affiliate"),
  });
}

function refund(data: Fields): Told {
  const order = data.at("attributes");
  const isFull = order.get("status") === "refunded";
  const { currency, amount } = amountsOf(order);
  // Lemon Squeezy told no amount before it had partial refunds.
  const refundedSoFar = order.has("refunded_amount") ? amount("refunded_amount") : undefined;
  return refundOf({ paymentId: idOf(data), refundedSoFar, isFull, currency });
}

const idOf = (data: Fields) => `${data.text("type")} ${data.maybe("id") ?? data.text("id")}`;

function amountsOf(order: Fields) {
  const currency = order.currency("currency");
  const hasCents = decimalsIn(currency) === 2;
  return {
    currency: hasCents ? currency : "USD",
    amount: (field: string) => (hasCents ? order.minor(field, currency) : order.minor(`${field}_usd`, "USD")),
  };
}
