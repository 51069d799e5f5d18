import { gatewayError, shown } from "./errors.js";
import { Fields } from "./fields.js";
import { refundOf, saleOf, type Told } from "./told.js";

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
      return isAutomatic ? sale(item, "pspReference") : undefined;
    case "CAPTURE":
      return isAutomatic ? undefined : sale(item, "originalReference");
    case "REFUND":
    case "CHARGEBACK":
      return refund(item, type === "CHARGEBACK");
    case "CANCEL_OR_REFUND":
    case "CAPTURE_FAILED":
      return fullRefund(item);
    case "CANCELLATION":
      return isAutomatic ? fullRefund(item) : undefined;
    default:
      return undefined;
  }
}

function sale(item: Fields, idField: string): Told {
  const extra = item.at("additionalData");
  return saleOf({
    paymentId: item.text(idField),
    ...item.money("amount.value", "amount.currency"),
    customerEmail: extra.maybe("shopperEmail"),
    customerId:
      extra.maybe("recurring.shopperReference") ??
      extra.maybe("shopperReference") ??
      item.maybe("merchantReference"),
    attribution: extra.snapshot("metadata.affiliate"),
  });
}

function refund(item: Fields, isDispute: boolean): Told {
  return refundOf({
    paymentId: item.text("originalReference"),
    refundId: item.text("pspReference"),
    ...item.money("amount.value", "amount.currency"),
    isDispute,
  });
}

/** Its amount is that of the request, if any. */
function fullRefund(item: Fields): Told {
  return refundOf({
    paymentId: item.text("originalReference"),
    refundId: item.text("pspReference"),
    isFull: true,
    currency: item.currency("amount.currency"),
  });
}
