import { Fields } from "./fields.js";
import type { Told } from "./told.js";

/**
 * Reads a webhook of PayPal, once `/v1/notifications/verify-webhook-signature` has said that PayPal
 * signed it.
 *
 * | event | gives |
 * | --- | --- |
 * | `PAYMENT.CAPTURE.COMPLETED` (orders, v2) | a sale; the id is the capture's |
 * | `PAYMENT.CAPTURE.REFUNDED`, `PAYMENT.CAPTURE.REVERSED` (by PayPal) | a refund; the capture's id is in its link `up` |
 * | `PAYMENT.SALE.COMPLETED` (subscriptions, v1) | a sale; the id is the sale's |
 * | `PAYMENT.SALE.REFUNDED` | a refund; the sale's id is `sale_id` |
 * | `PAYMENT.SALE.REVERSED` | nothing: it names no sale, so that a person has to look |
 * | `CUSTOMER.DISPUTE.CREATED` | a refund with `isDispute`, of the first disputed transaction |
 *
 * No event has the customer's id or address: `customerId` is the order's or the subscription's.
 */
export function paypal(given: unknown): Told {
  const { type, event } = Fields.of("paypal", given, "event_type");
  const resource = event.at("resource");
  switch (type) {
    case "PAYMENT.CAPTURE.COMPLETED":
      return resource.sale(ORDER);
    case "PAYMENT.CAPTURE.REFUNDED":
    case "PAYMENT.CAPTURE.REVERSED":
      return { ...resource.refund({ ...ORDER, of: "id" }), paymentId: captureOf(resource) };
    case "PAYMENT.SALE.COMPLETED":
      return resource.sale(SUBSCRIPTION);
    case "PAYMENT.SALE.REFUNDED":
      return resource.refund({ ...SUBSCRIPTION, of: "sale_id" });
    case "CUSTOMER.DISPUTE.CREATED":
      return resource.refund(DISPUTE, { isDispute: true });
    default:
      return undefined;
  }
}

/** Where the fields of an order's payment stand (v2). */
const ORDER = {
  id: "id",
  amount: "amount.value",
  currency: "amount.currency_code",
  soFar: "seller_payable_breakdown.total_refunded_amount.value",
  customer: "supplementary_data.related_ids.order_id",
  affiliate: "custom_id",
};

/** Where those of a subscription's payment stand (v1). */
const SUBSCRIPTION: typeof ORDER = {
  id: "id",
  amount: "amount.total",
  currency: "amount.currency",
  soFar: "total_refunded_amount.value",
  customer: "billing_agreement_id",
  affiliate: "custom",
};

const DISPUTE = {
  of: "disputed_transactions.0.seller_transaction_id",
  id: "dispute_id",
  amount: "dispute_amount.value",
  currency: "dispute_amount.currency_code",
};

function captureOf(refund: Fields): string {
  const links = refund.get("links");
  for (const nth of Array.isArray(links) ? links.keys() : []) {
    if (refund.get(`links.${nth}.rel`) !== "up") continue;
    const [, id] = /\/captures\/(\w+)$/.exec(refund.text(`links.${nth}.href`)) ?? [];
    if (id !== undefined) return id;
  }
  return refund.refuse("links", "a list with the capture's address as `up`");
}
