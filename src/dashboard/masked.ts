import { maskEmail, maskEmails } from "../shared/emails.js";
import { printable } from "../shared/printable.js";
import type { Secret } from "../shared/secret.js";

const LONGEST = 500;

/**
 * A text for the page: in one line, not long, and without addresses in full.
 *
 * @param address the customer's, which the service may have spelt in its own way: percent-encoded, say.
 */
export function shownText(text: string, address?: Secret): string {
  const masked = maskEmails(printable(text));
  const hidden = address?.removeFrom(masked) ?? masked;
  return hidden.length > LONGEST ? `${hidden.slice(0, LONGEST)}…` : hidden;
}

/** A customer's address, masked. */
export function shownAddress(address: string): string {
  return printable(maskEmail(address));
}
