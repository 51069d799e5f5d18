import { Fields } from "./fields.js";
import { refundOf, type Told } from "./told.js";

/**
 * Reads a payment of Mollie (API version 2), as `mollie.payments.get(id)` gives it. The webhook has
 * the id alone, and comes again when the payment is refunded or charged back.
 *
 * | payment | gives |
 * | --- | --- |
 * | `status` is `paid` | a sale |
 * | with `amountRefunded` | a refund, with the sum so far; its `sale`, because the first webhook may have been lost |
 * | with `amountChargedBack` | a refund with `isDispute`, and with the sum of refunds if there is one; its `sale` |
 *
 * The id is the payment's, `tr_…`. A subscription's metadata is on each of its payments.
 */
export function mollie(given: unknown): Told {
  const { type, event: payment } = Fields.of("mollie", given, "resource");
  if (type !== "payment" || payment.text("status") !== "paid") return undefined;
  const paymentId = payment.id("id");
  const currency = payment.currency("amount.currency");
  const amountOf = (field: string) => payment.amount(`${field}.value`, currency);
  const mayBe = (field: string) => (payment.get(field) === undefined ? 0 : amountOf(field));
  const paid = payment.get("amountCaptured") === undefined ? "amount" : "amountCaptured";
  const sale = payment.sale({ ...PAYMENT, amount: `${paid}.value` });
  const [refunded, chargedBack] = [mayBe("amountRefunded"), mayBe("amountChargedBack")];
  const told = { paymentId, currency, sale };
  const ofRefunds = { refundedSoFar: refunded, isFull: refunded >= amountOf(paid) };
  // One answer may tell of both: what the shop gave back, and what the customer's bank took back.
  if (chargedBack > 0)
    return refundOf({ ...told, ...(refunded > 0 && ofRefunds), amount: chargedBack, isDispute: true });
  return refunded > 0 ? refundOf({ ...told, ...ofRefunds }) : sale;
}

const PAYMENT = {
  id: "id",
  currency: "amount.currency",
  email: "billingAddress.email",
  customer: "customerId",
  affiliate: "metadata.affiliate",
};
