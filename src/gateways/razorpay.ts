import { Fields } from "./fields.js";
import type { Told } from "./told.js";

/**
 * Reads a webhook of Razorpay (API version 1): its parsed body, once
 * `Razorpay.validateWebhookSignature` has said that Razorpay signed it.
 *
 * | event | gives |
 * | --- | --- |
 * | `payment.captured` | a sale, of one-off payments and subscriptions |
 * | `refund.processed`, of a captured payment | a refund, with the sum so far |
 * | `payment.dispute.created` | a refund with `isDispute` |
 *
 * The id is the payment's, `pay_…`. The metadata is `notes`.
 */
export function razorpay(given: unknown): Told {
  const { type, event } = Fields.of("razorpay", given, "event");
  const payment = event.at("payload.payment.entity");
  switch (type) {
    case "payment.captured": {
      const hasEmail = payment.maybe("email")?.toLowerCase() !== NO_ADDRESS;
      return payment.sale({ ...PAYMENT, email: hasEmail ? "email" : [] });
    }
    case "refund.processed": {
      // Razorpay refunds what was authorised, and not captured in time.
      if (payment.get("captured") === false) return undefined;
      const hasSum = payment.get("amount_refunded") !== undefined;
      return event.at("payload").refund(REFUND, {
        isFull: hasSum ? payment.get("refund_status") === "full" : undefined,
      });
    }
    case "payment.dispute.created":
      return event.at("payload.dispute.entity").refund(DISPUTE, { isDispute: true });
    default:
      return undefined;
  }
}

/** What Razorpay writes if its checkout did not ask for an address. */
const NO_ADDRESS = "void@razorpay.com";

const MONEY = { amount: "amount", currency: "currency" };
const PAYMENT = { ...MONEY, id: "id", customer: "customer_id", affiliate: "notes.affiliate" };
const DISPUTE = { ...MONEY, of: "payment_id", id: "id" };
const REFUND = {
  of: "refund.entity.payment_id",
  id: "refund.entity.id",
  amount: "refund.entity.amount",
  soFar: "payment.entity.amount_refunded",
  currency: "refund.entity.currency",
};
