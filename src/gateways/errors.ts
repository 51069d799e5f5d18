import { AffiliateError } from "../shared/errors.js";
import { shown as shownValue } from "../shared/printable.js";

/** A gateway that this module reads. */
export type Gateway =
  | "stripe"
  | "paypal"
  | "paddle"
  | "lemonSqueezy"
  | "braintree"
  | "mollie"
  | "razorpay"
  | "square"
  | "adyen";

/** An event or an amount cannot be read. Shows no customer's address. */
export function gatewayError(message: string): AffiliateError {
  return new AffiliateError("ERR_AFFILIATE_GATEWAY", `affiliate: ${message}`);
}

/** What arrived. A longer text, or one with other characters, may be an address. */
export function shown(value: unknown): string {
  if (ArrayBuffer.isView(value)) return "bytes that are not parsed";
  const isText = typeof value === "string" && !/^[\w.,+-]{0,24}$/.test(value);
  return isText ? "another text" : shownValue(value);
}
