import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

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
 * | `CUSTOMER.DISPUTE.CREATED` | a refund with `isDispute`, of the first disputed transaction |
 *
 * No event has the customer's id or address: `customerId` is the order's or the subscription's.
 */
export function paypal(given: unknown): Told {
  const { type, event } = Fields.of("paypal", given, "event_type");
  const resource = event.at("resource");
  switch (type) {
    case "PAYMENT.CAPTURE.COMPLETED":
      return sale(resource, ORDER);
    case "PAYMENT.CAPTURE.REFUNDED":
    case "PAYMENT.CAPTURE.REVERSED":
      return refund(resource, ORDER, captureOf(resource));
    case "PAYMENT.SALE.COMPLETED":
      return sale(resource, SUBSCRIPTION);
    case "PAYMENT.SALE.REFUNDED":
      return refund(resource, SUBSCRIPTION, resource.text("sale_id"));
    case "CUSTOMER.DISPUTE.CREATED":
      return dispute(resource);
    default:
      return undefined;
  }
}

/** Where the fields of an order's payment stand (v2). */
const ORDER = {
  amount: "amount.value",
  currency: "amount.currency_code",
  refundedSoFar: "seller_payable_breakdown.total_refunded_amount.value",
  customerId: "supplementary_data.related_ids.order_id",
  attribution: "custom_id",
};

/** Where those of a subscription's payment stand (v1). */
const SUBSCRIPTION: typeof ORDER = {
  amount: "amount.total",
  currency: "amount.currency",
  refundedSoFar: "total_refunded_amount.value",
  customerId: "billing_agreement_id",
  attribution: "custom",
};

function sale(resource: Fields, at: typeof ORDER): Told {
  return saleOf({
    paymentId: resource.text("id"),
    amount: resource.decimal(at.amount),
    currency: resource.currency(at.currency),
    customerEmail: undefined,
    customerId: resource.maybe(at.customerId),
    attribution: resource.snapshot(at.attribution),
  });
}

function refund(resource: Fields, at: typeof ORDER, paymentId: string): Told {
  return refundOf({
    paymentId,
    refundId: resource.text("id"),
    // Negative in some events of v1.
    amount: resource.decimal(at.amount, { signed: at === SUBSCRIPTION }),
    refundedSoFar: resource.has(at.refundedSoFar) ? resource.decimal(at.refundedSoFar) : undefined,
    currency: resource.currency(at.currency),
  });
}

function captureOf(refund: Fields): string {
  const links = refund.get("links");
  for (const nth of Array.isArray(links) ? links.keys() : []) {
    if (refund.get(`links.${nth}.rel`) !== "up") continue;
    const [, id] = /\/captures\/(\w+)$/.exec(refund.text(`links.${nth}.href`)) ?? [];
    if (id !== undefined) return id;
  }
  return refund.refuse("links", "a list with the capture's address as `up`");
}

function dispute(opened: Fields): Told {
  return refundOf({
    paymentId: opened.text("disputed_transactions.0.seller_transaction_id"),
    refundId: opened.text("dispute_id"),
    amount: opened.decimal("dispute_amount.value"),
    currency: opened.currency("dispute_amount.currency_code"),
    isDispute: true,
  });
}
