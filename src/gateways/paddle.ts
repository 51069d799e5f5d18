import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

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
  if (type === "transaction.completed") return sale(data);
  return type === "adjustment.created" || type === "adjustment.updated" ? adjustment(data) : undefined;
}

function sale(data: Fields): Told {
  return saleOf({
    paymentId: data.text("id"),
    ...data.money("details.totals.grand_total", "currency_code"),
    customerEmail: undefined,
    customerId: data.maybe("customer_id"),
    attribution: data.snapshot("custom_data.affiliate"),
  });
}

/** A credit changes what is still to be paid: no money goes back. */
function adjustment(data: Fields): Told {
  const isDispute = data.get("action") === "chargeback";
  if (data.get("status") !== "approved" || !(isDispute || data.get("action") === "refund")) return undefined;
  return refundOf({
    paymentId: data.text("transaction_id"),
    refundId: data.text("id"),
    ...data.money("totals.total", "currency_code"),
    isFull: data.get("type") === "full" ? true : undefined,
    isDispute,
  });
}
