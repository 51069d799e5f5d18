import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

/**
 * Reads a webhook of Razorpay (API version 1): its parsed body, once
 * `Razorpay.validateWebhookSignature` has said that Razorpay signed it.
 *
 * | event | gives |
 * | --- | --- |
 * | `payment.captured` | a sale, of one-off payments and subscriptions |
 * | `refund.processed` | a refund, with the sum so far |
 * | `payment.dispute.created` | a refund with `isDispute` |
 *
 * The id is the payment's, `pay_…`. The metadata is `notes`.
 */
export function razorpay(given: unknown): Told {
  const { type, event } = Fields.of("razorpay", given, "event");
  if (type === "payment.captured") return sale(event.at("payload.payment.entity"));
  if (type === "refund.processed") return refund(event.at("payload"));
  return type === "payment.dispute.created" ? dispute(event.at("payload.dispute.entity")) : undefined;
}

/** What Razorpay writes if its checkout did not ask for an address. */
const NO_ADDRESS = "void@razorpay.com";

function sale(payment: Fields): Told {
  const email = payment.maybe("email");
  return saleOf({
    paymentId: payment.text("id"),
    ...payment.money("amount", "currency"),
    customerEmail: email?.toLowerCase() === NO_ADDRESS ? undefined : email,
    customerId: payment.maybe("customer_id"),
    attribution: payment.snapshot("notes.affiliate"),
  });
}

function refund(payload: Fields): Told {
  const { amount, currency } = payload.money("refund.entity.amount", "refund.entity.currency");
  const payment = payload.at("payment.entity");
  const hasSum = payment.has("amount_refunded");
  return refundOf({
    paymentId: payload.text("refund.entity.payment_id"),
    refundId: payload.text("refund.entity.id"),
    amount,
    refundedSoFar: hasSum ? payment.minor("amount_refunded", currency) : undefined,
    isFull: hasSum ? payment.get("refund_status") === "full" : undefined,
    currency,
  });
}

function dispute(opened: Fields): Told {
  return refundOf({
    paymentId: opened.text("payment_id"),
    refundId: opened.text("id"),
    ...opened.money("amount", "currency"),
    isDispute: true,
  });
}
