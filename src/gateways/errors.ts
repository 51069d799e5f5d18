import { AffiliateError } from "../shared/errors.js";

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
  if (typeof value === "string")
    return /^[\w.,+-]{0,24}$/.test(value) ? `"${value}" (string)` : "another text";
  if (typeof value === "bigint") return `${String(value).slice(0, 24)} (bigint)`;
  if (typeof value === "number" || typeof value === "boolean") return `${value} (${typeof value})`;
  if (value === null || value === undefined) return String(value);
  if (ArrayBuffer.isView(value)) return "bytes that are not parsed";
  return Array.isArray(value) ? "an array" : `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}
