import { gatewayError, shown } from "./errors.js";
import { Fields } from "./fields.js";
import type { Told } from "./told.js";

/** What Adyen's events leave open. */
export interface AdyenOptions {
  /** When your merchant account captures: at once or after a delay, or when you ask for it. */
  readonly capture: "automatic" | "manual";
}

/**
 * Reads one `NotificationRequestItem` of Adyen's standard webhook (version 1), once
 * `HmacValidator.validateHMAC` has said that Adyen signed it.
 *
 * | event, with `success` | gives |
 * | --- | --- |
 * | `AUTHORISATION` if captures are automatic, otherwise `CAPTURE` | a sale |
 * | `REFUND` | a refund |
 * | `CANCEL_OR_REFUND`; `CANCELLATION` and `CAPTURE_FAILED` after a sale | a full refund |
 * | `CHARGEBACK` | a refund with `isDispute` |
 *
 * The id is the payment's `pspReference`, which the other events have as `originalReference`. Of
 * several captures of one payment, only the first is reported: the others have the same id. Adyen
 * says the amount of each refund, not their sum. A value of metadata has 80 characters: too few for
 * most snapshots. `customerId` is the `shopperReference` if Adyen sends it, otherwise your own
 * `merchantReference`.
 */
export function adyen(given: unknown, options: AdyenOptions): Told {
  const capture: unknown = options?.capture;
  if (capture !== "automatic" && capture !== "manual")
    throw gatewayError(`adyen: \`capture\` must be "automatic" or "manual", got ${shown(capture)}`);
  const { type, event: item } = Fields.of("adyen", given, "eventCode");
  const isAutomatic = capture === "automatic";
  // Adyen's customer area sends tests, with ids such as test_AUTHORISATION_1.
  if (item.maybe("pspReference")?.startsWith("test_")) return undefined;
  if (item.get("success") !== "true" && item.get("success") !== true) return undefined;
  switch (type) {
    case "AUTHORISATION":
      return isAutomatic ? item.sale({ ...PAYMENT, id: "pspReference" }) : undefined;
    case "CAPTURE":
      return isAutomatic ? undefined : item.sale({ ...PAYMENT, id: "originalReference" });
    case "REFUND":
    case "CHARGEBACK":
      return item.refund({ ...CHANGE, amount: PAYMENT.amount }, { isDispute: type === "CHARGEBACK" });
    case "CANCEL_OR_REFUND":
    case "CAPTURE_FAILED":
      return item.refund(CHANGE, { isFull: true });
    case "CANCELLATION":
      return isAutomatic ? item.refund(CHANGE, { isFull: true }) : undefined;
    default:
      return undefined;
  }
}

const PAYMENT = {
  amount: "amount.value",
  currency: "amount.currency",
  email: "additionalData.shopperEmail",
  customer: [
    "additionalData.recurring.shopperReference",
    "additionalData.shopperReference",
    "merchantReference",
  ],
  affiliate: "additionalData.metadata.affiliate",
};

// The amount of one that is full is that of the request, if any.
const CHANGE = { of: "originalReference", id: "pspReference", currency: "amount.currency" };
