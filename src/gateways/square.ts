import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

/**
 * Reads a webhook of Square (API version 2026-09-16): its parsed body, once
 * `WebhooksHelper.verifySignature` has said that Square signed it.
 *
 * | event | gives |
 * | --- | --- |
 * | `payment.created`, `payment.updated`, once completed | a sale, without its tip |
 * | `refund.created`, `refund.updated`, once completed | a refund |
 * | `dispute.created` | a refund with `isDispute` |
 *
 * The id is the payment's. Square says the amount of each refund, not their sum. A payment has no
 * metadata.
 */
export function square(given: unknown): Told {
  const { type, event } = Fields.of("square", given, "type");
  const object = event.at("data.object");
  if (type === "payment.created" || type === "payment.updated") return sale(object.at("payment"));
  if (type === "refund.created" || type === "refund.updated") return refund(object.at("refund"));
  if (type !== "dispute.created") return undefined;
  // The documentation has it as `dispute`, the types of Square's library as `object`.
  return dispute(object.at(object.has("object") ? "object" : "dispute"));
}

const MONEY = ["amount_money.amount", "amount_money.currency"] as const;

function sale(payment: Fields): Told {
  if (payment.text("status") !== "COMPLETED") return undefined;
  return saleOf({
    paymentId: payment.text("id"),
    ...payment.money(...MONEY),
    customerEmail: payment.maybe("buyer_email_address"),
    customerId: payment.maybe("customer_id"),
  });
}

function refund(made: Fields): Told {
  // A refund to a customer without a payment is `unlinked`.
  if (made.get("status") !== "COMPLETED" || !made.has("payment_id")) return undefined;
  return refundOf({
    paymentId: made.text("payment_id"),
    refundId: made.text("id"),
    ...made.money(...MONEY),
  });
}

function dispute(opened: Fields): Told {
  const paymentId = opened.text("disputed_payment.payment_id");
  const refundId = opened.maybe("dispute_id") ?? opened.text("id");
  return refundOf({ paymentId, refundId, ...opened.money(...MONEY), isDispute: true });
}
