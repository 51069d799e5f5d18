import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

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
  if (type === "sale") return sale(event);
  if (type === "credit") return refund(event);
  if (type === "subscription_charged_successfully") return sale(event.at("subscription.transactions.0"));
  return type === "dispute_opened" ? dispute(event.at("dispute")) : undefined;
}

const TAKEN = [
  "submitted_for_settlement",
  "settlement_pending",
  "settling",
  "settlement_confirmed",
  "settled",
];

function sale(transaction: Fields): Told {
  const status = transaction.text("status");
  if (status !== "voided" && !TAKEN.includes(status)) return undefined;
  const paymentId = transaction.text("id");
  const amount = transaction.decimal("amount");
  const currency = transaction.currency("currency_iso_code");
  if (status === "voided") return refundOf({ paymentId, refundedSoFar: amount, isFull: true, currency });
  return saleOf({
    paymentId,
    amount,
    currency,
    customerEmail: transaction.maybe("customer.email"),
    customerId: transaction.maybe("customer.id"),
    attribution: transaction.snapshot("custom_fields.affiliate"),
  });
}

function refund(transaction: Fields): Told {
  // Without it, a credit without a sale. A bank may decline a refund, too: then nothing went back.
  const isOfSale = transaction.has("refunded_transaction_id");
  if (!isOfSale || !TAKEN.includes(transaction.text("status"))) return undefined;
  return refundOf({
    paymentId: transaction.text("refunded_transaction_id"),
    refundId: transaction.text("id"),
    amount: transaction.decimal("amount"),
    currency: transaction.currency("currency_iso_code"),
  });
}

function dispute(opened: Fields): Told {
  return refundOf({
    paymentId: opened.text("transaction.id"),
    refundId: opened.text("id"),
    amount: opened.decimal("amount_disputed"),
    currency: opened.currency("currency_iso_code"),
    isDispute: true,
  });
}
