import { Fields } from "./fields.js";
import type { Told } from "./told.js";

/**
 * Reads what the package `braintree` (3) gives: a notification of `gateway.webhookNotification.parse`,
 * or a transaction, because Braintree calls no webhook for a one-off payment or its refund.
 *
 * | given | gives |
 * | --- | --- |
 * | the `transaction` of `gateway.transaction.sale`, `submitForSettlement` or `find` | a sale, once it is submitted for settlement; a full refund if it is voided |
 * | the `transaction` of `gateway.transaction.refund` | a refund, once it is submitted for settlement |
 * | a notification `subscription_charged_successfully` | a sale: its newest transaction |
 * | a notification `dispute_opened` | a refund with `isDispute` |
 *
 * The id is the sale's transaction. Braintree says the amount of each refund, not their sum.
 */
export function braintree(given: unknown): Told {
  const isNotification = typeof given === "object" && given !== null && "kind" in given;
  const { type, event } = Fields.of("braintree", given, isNotification ? "kind" : "type");
  switch (type) {
    case "sale":
      return sale(event);
    case "credit": {
      // Without it, a credit without a sale. A bank may decline a refund, too: then nothing went back.
      const isOfSale = event.get(REFUND.of) !== undefined;
      return isOfSale && TAKEN.includes(event.text("status")) ? event.refund(REFUND) : undefined;
    }
    case "subscription_charged_successfully":
      // A cycle that the subscription's balance has paid for.
      if (event.get("subscription.transactions.length") === 0) return undefined;
      return sale(event.at("subscription.transactions.0"));
    case "dispute_opened":
      return event.at("dispute").refund(DISPUTE, { isDispute: true });
    default:
      return undefined;
  }
}

const TAKEN = "submitted_for_settlement settlement_pending settling settlement_confirmed settled".split(" ");

const TRANSACTION = {
  id: "id",
  amount: "amount",
  currency: "currency_iso_code",
  email: "customer.email",
  customer: "customer.id",
  affiliate: "custom_fields.affiliate",
};
const VOIDED = { of: "id", soFar: "amount", currency: "currency_iso_code" };
const REFUND = { of: "refunded_transaction_id", id: "id", amount: "amount", currency: "currency_iso_code" };
const DISPUTE = { ...REFUND, of: "transaction.id", amount: "amount_disputed" };

function sale(transaction: Fields): Told {
  const status = transaction.text("status");
  if (status === "voided") return transaction.refund(VOIDED, { isFull: true });
  return TAKEN.includes(status) ? transaction.sale(TRANSACTION) : undefined;
}
