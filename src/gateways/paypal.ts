import { Fields } from "./fields.js";
import { attributionIn } from "./metadata.js";
import { refundOf, saleOf, type Told } from "./told.js";

/**
 * Reads a webhook of PayPal, once `/v1/notifications/verify-webhook-signature` has said that PayPal
 * signed it.
 *
 * | event | gives |
 * | --- | --- |
 * | `PAYMENT.CAPTURE.COMPLETED` (orders, v2) | a sale; the id is the capture's |
 * | `PAYMENT.CAPTURE.REFUNDED` | a refund; the capture's id is in its link `up` |
 * | `PAYMENT.SALE.COMPLETED` (subscriptions, v1) | a sale; the id is the sale's |
 * | `PAYMENT.SALE.REFUNDED` | a refund; the sale's id is `sale_id` |
 * | `CUSTOMER.DISPUTE.CREATED` | a refund with `isDispute`, of the first disputed transaction |
 *
 * No event has the customer's id or address: `customerId` is the order's or the subscription's.
 */
export function paypal(given: unknown): Told {
  const { type, event } = Fields.of("paypal", given, "event_type");
  const resource = event.at("resource");
  if (type === "PAYMENT.CAPTURE.COMPLETED") return capture(resource);
  if (type === "PAYMENT.CAPTURE.REFUNDED") return captureRefund(resource);
  if (type === "PAYMENT.SALE.COMPLETED") return subscriptionSale(resource);
  if (type === "PAYMENT.SALE.REFUNDED") return subscriptionRefund(resource);
  return type === "CUSTOMER.DISPUTE.CREATED" ? dispute(resource) : undefined;
}

function capture(resource: Fields): Told {
  return saleOf({
    paymentId: resource.text("id"),
    leadValue: resource.decimal("amount.value"),
    currency: resource.currency("amount.currency_code"),
    customerEmail: undefined,
    customerId: resource.maybe("supplementary_data.related_ids.order_id"),
    attribution: attributionIn(resource.get("custom_id")),
  });
}

function captureRefund(resource: Fields): Told {
  const total = "seller_payable_breakdown.total_refunded_amount.value";
  return refundOf({
    paymentId: captureOf(resource),
    refundId: resource.text("id"),
    amount: resource.decimal("amount.value"),
    refundedSoFar: resource.has(total) ? resource.decimal(total) : undefined,
    currency: resource.currency("amount.currency_code"),
  });
}

function captureOf(resource: Fields): string {
  const links = resource.get("links");
  for (const nth of Array.isArray(links) ? links.keys() : []) {
    if (resource.get(`links.${nth}.rel`) !== "up") continue;
    const [, id] = /\/captures\/(\w+)$/.exec(resource.text(`links.${nth}.href`)) ?? [];
    if (id !== undefined) return id;
  }
  return resource.refuse("links", "a list with the capture's address as `up`");
}

function subscriptionSale(resource: Fields): Told {
  return saleOf({
    paymentId: resource.text("id"),
    leadValue: resource.decimal("amount.total"),
    currency: resource.currency("amount.currency"),
    customerEmail: undefined,
    customerId: resource.maybe("billing_agreement_id"),
    attribution: attributionIn(resource.get("custom")),
  });
}

function subscriptionRefund(resource: Fields): Told {
  const total = "total_refunded_amount.value";
  return refundOf({
    paymentId: resource.text("sale_id"),
    refundId: resource.text("id"),
    // Negative in some events.
    amount: resource.decimal("amount.total", { signed: true }),
    refundedSoFar: resource.has(total) ? resource.decimal(total) : undefined,
    currency: resource.currency("amount.currency"),
  });
}

function dispute(resource: Fields): Told {
  return refundOf({
    paymentId: resource.text("disputed_transactions.0.seller_transaction_id"),
    refundId: resource.text("dispute_id"),
    amount: resource.decimal("dispute_amount.value"),
    currency: resource.currency("dispute_amount.currency_code"),
    isDispute: true,
  });
}
