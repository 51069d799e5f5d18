import { Fields } from "./fields.js";
import type { Told } from "./told.js";

/**
 * Reads an event of Paddle Billing (API version 1), as `paddle.webhooks.unmarshal` gives it, or
 * the JSON of its body.
 *
 * | event | gives |
 * | --- | --- |
 * | `transaction.completed` | a sale, of one-off payments and subscriptions |
 * | `adjustment.created`, `adjustment.updated`, once `approved` | a refund; of a chargeback, with `isDispute` |
 *
 * The id is the transaction's. Paddle says the amount of each adjustment, not their sum. The event
 * has no address of the customer.
 */
export function paddle(given: unknown): Told {
  const { type, event } = Fields.of("paddle", given, "event_type");
  const data = event.at("data");
  if (type === "transaction.completed") return data.sale(TRANSACTION);
  return type === "adjustment.created" || type === "adjustment.updated" ? adjustment(data) : undefined;
}

const TRANSACTION = {
  id: "id",
  amount: "details.totals.grand_total",
  currency: "currency_code",
  customer: "customer_id",
  affiliate: "custom_data.affiliate",
};

const ADJUSTMENT = { of: "transaction_id", id: "id", amount: "totals.total", currency: "currency_code" };

/** A credit changes what is still to be paid: no money goes back. */
function adjustment(data: Fields): Told {
  const isDispute = data.get("action") === "chargeback";
  if (data.get("status") !== "approved" || !(isDispute || data.get("action") === "refund")) return undefined;
  return data.refund(ADJUSTMENT, { isDispute, isFull: data.get("type") === "full" ? true : undefined });
}
