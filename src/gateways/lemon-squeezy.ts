import { decimalsIn } from "./amounts.js";
import { Fields } from "./fields.js";
import { attributionIn } from "./metadata.js";
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
  const order = event.at("data.attributes");
  // The first payment of a subscription is an order, too.
  if (!type.startsWith("order_") && order.get("billing_reason") === "initial") return undefined;
  if (type === "order_created" || type === "subscription_payment_success") return sale(event, order);
  if (type === "order_refunded" || type === "subscription_payment_refunded") return refund(event, order);
  return undefined;
}

function sale(event: Fields, order: Fields): Told {
  // Neither pending, nor failed, nor fraudulent. A subscription's payment has no such status.
  if (!["paid", "refunded", "partial_refund"].includes(order.text("status"))) return undefined;
  const { currency, amount } = amountsOf(order);
  return saleOf({
    paymentId: idOf(event),
    amount: amount("total"),
    currency,
    customerEmail: order.maybe("user_email"),
    customerId: order.maybe("customer_id"),
    attribution: attributionIn(event.get("meta.custom_data.affiliate")),
  });
}

function refund(event: Fields, order: Fields): Told {
  const { currency, amount } = amountsOf(order);
  // Lemon Squeezy told no amount before it had partial refunds.
  const hasAmount = order.get("refunded_amount") !== undefined;
  return refundOf({
    paymentId: idOf(event),
    refundedSoFar: hasAmount ? amount("refunded_amount") : undefined,
    isFull: order.get("status") === "refunded",
    currency,
  });
}

const idOf = (event: Fields) => `${event.text("data.type")} ${event.id("data.id")}`;

function amountsOf(order: Fields) {
  const given = order.currency("currency");
  const [currency, end] = decimalsIn(given) === 2 ? [given, ""] : ["USD", "_usd"];
  return { currency, amount: (field: string) => order.amount(field + end, currency) };
}
