import { Fields } from "./fields.js";
import { refundOf, type Told } from "./told.js";

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
  const { type, event } = Fields.of("stripe", given, "type");
  const object = event.at("data.object");
  // A thin event has no charge, and is refused.
  switch (type.replace(/^v1\./, "")) {
    case "charge.succeeded":
    case "charge.captured":
      return object.id("id") && object.get("captured") === true ? object.sale(CHARGE) : undefined;
    case "charge.refunded":
      return refund(object, event.maybe("api_version") ?? "");
    case "charge.dispute.created":
      return object.refund(DISPUTE, { isDispute: true });
    default:
      return undefined;
  }
}

const CHARGE = {
  id: "id",
  amount: "amount_captured",
  currency: "currency",
  email: ["billing_details.email", "receipt_email"],
  customer: ["customer", "customer.id"],
  affiliate: "metadata.affiliate",
};

// An expanded charge is an object.
const DISPUTE = { of: ["charge.id", "charge"], id: "id", amount: "amount", currency: "currency" };

function refund(charge: Fields, apiVersion: string): Told {
  const paymentId = charge.id("id");
  // Before 2025-03-31.basil, an authorisation that is cancelled is refunded …
  if (charge.get("captured") !== true) return undefined;
  const currency = charge.currency("currency");
  const sum = (field: string) => charge.amount(field, currency);
  // … and so is what a partial capture leaves.
  const isOld = apiVersion !== "" && apiVersion < "2025-03-31";
  const uncaptured = isOld ? sum("amount") - sum("amount_captured") : 0;
  const refundedSoFar = Number((sum("amount_refunded") - uncaptured).toFixed(3));
  if (refundedSoFar <= 0) return undefined;
  return refundOf({ paymentId, refundedSoFar, isFull: charge.get("refunded") === true, currency });
}
