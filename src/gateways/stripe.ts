import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

/**
 * Reads an event of Stripe, as `stripe.webhooks.constructEvent` gives it (API versions until
 * 2026-10-28.endive).
 *
 * | event | gives |
 * | --- | --- |
 * | `charge.succeeded`, `charge.captured` | a sale, once it is captured |
 * | `charge.refunded` | a refund, with the sum so far |
 * | `charge.dispute.created` | a refund with `isDispute` |
 *
 * The id is the charge's. One-off payments, Checkout, subscriptions and invoices all end in a
 * charge, and a refund has no invoice: since 2025-03-31.basil, neither a charge nor a payment intent
 * names one. Metadata of a payment intent is copied to its charge; that of a subscription is not.
 */
export function stripe(given: unknown): Told {
  const { type: name, event } = Fields.of("stripe", given, "type");
  // A thin event has no charge, and is refused.
  const type = name.replace(/^v1\./, "");
  const object = event.at("data.object");
  if (type === "charge.succeeded" || type === "charge.captured") return sale(object);
  if (type === "charge.refunded") return refund(object, event.maybe("api_version") ?? "");
  if (type !== "charge.dispute.created") return undefined;
  const refundId = object.text("id");
  // An expanded charge is an object.
  const paymentId = object.maybe("charge.id") ?? object.text("charge");
  return refundOf({ paymentId, refundId, ...object.money("amount", "currency"), isDispute: true });
}

function sale(charge: Fields): Told {
  const paymentId = charge.text("id");
  if (charge.get("captured") !== true) return undefined;
  return saleOf({
    paymentId,
    ...charge.money("amount_captured", "currency"),
    customerEmail: charge.maybe("billing_details.email") ?? charge.maybe("receipt_email"),
    customerId: charge.maybe("customer") ?? charge.maybe("customer.id"),
    attribution: charge.snapshot("metadata.affiliate"),
  });
}

function refund(charge: Fields, apiVersion: string): Told {
  const paymentId = charge.text("id");
  // Before 2025-03-31.basil, an authorisation that is cancelled is refunded …
  if (charge.get("captured") !== true) return undefined;
  const currency = charge.currency("currency");
  const sum = (field: string) => charge.minor(field, currency);
  // … and so is what a partial capture leaves.
  const isOld = apiVersion !== "" && apiVersion < "2025-03-31";
  const uncaptured = isOld ? sum("amount") - sum("amount_captured") : 0;
  const refundedSoFar = Number((sum("amount_refunded") - uncaptured).toFixed(3));
  if (refundedSoFar <= 0) return undefined;
  return refundOf({ paymentId, refundedSoFar, isFull: charge.get("refunded") === true, currency });
}
