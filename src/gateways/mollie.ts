import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

/**
 * Reads a payment of Mollie (API version 2), as `mollie.payments.get(id)` gives it. The webhook has
 * the id alone, and comes again when the payment is refunded or charged back.
 *
 * | payment | gives |
 * | --- | --- |
 * | `status` is `paid` | a sale |
 * | with `amountRefunded` or `amountChargedBack` | a refund, with the sum so far; its `sale`, because the first webhook may have been lost |
 *
 * The id is the payment's, `tr_…`. A subscription's metadata is on each of its payments.
 */
export function mollie(given: unknown): Told {
  const { type, event: payment } = Fields.of("mollie", given, "resource");
  if (type !== "payment" || payment.text("status") !== "paid") return undefined;
  const paymentId = payment.text("id");
  const currency = payment.currency("amount.currency");
  const amountOf = (field: string) => (payment.has(field) ? payment.decimal(`${field}.value`) : 0);
  const leadValue = payment.has("amountCaptured")
    ? amountOf("amountCaptured")
    : payment.decimal("amount.value");
  const sale = saleOf({
    paymentId,
    leadValue,
    currency,
    customerEmail: payment.maybe("billingAddress.email"),
    customerId: payment.maybe("customerId"),
    attribution: payment.snapshot("metadata.affiliate"),
  });
  const chargedBack = amountOf("amountChargedBack");
  const refundedSoFar = Number((amountOf("amountRefunded") + chargedBack).toFixed(2));
  if (refundedSoFar === 0) return sale;
  const isFull = refundedSoFar >= leadValue;
  return refundOf({ paymentId, refundedSoFar, isFull, currency, sale, isDispute: chargedBack > 0 });
}
