import { Fields } from "./fields.js";
import type { Told } from "./told.js";

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
  switch (type) {
    case "payment.created":
    case "payment.updated": {
      const payment = object.at("payment");
      return payment.text("status") === "COMPLETED" ? payment.sale(PAYMENT) : undefined;
    }
    case "refund.created":
    case "refund.updated": {
      const refund = object.at("refund");
      // A refund to a customer without a payment is `unlinked`.
      const isMade = refund.get("status") === "COMPLETED" && refund.get("payment_id") !== undefined;
      return isMade ? refund.refund({ ...MONEY, of: "payment_id", id: "id" }) : undefined;
    }
    case "dispute.created": {
      // The documentation has it as `dispute`, the types of Square's library as `object`.
      const dispute = object.at(object.get("object") === undefined ? "dispute" : "object");
      const ids = { of: "disputed_payment.payment_id", id: ["dispute_id", "id"] };
      return dispute.refund({ ...MONEY, ...ids }, { isDispute: true });
    }
    default:
      return undefined;
  }
}

const MONEY = { amount: "amount_money.amount", currency: "amount_money.currency" };
const PAYMENT = { ...MONEY, id: "id", email: "buyer_email_address", customer: "customer_id" };
