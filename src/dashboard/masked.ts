import { maskEmail, maskEmails } from "../shared/emails.js";
import { printable } from "../shared/printable.js";
import type { Secret } from "../shared/secret.js";

const LONGEST = 500;

/** A short line without full addresses. The service may have spelt `address` in its own way. */
export function shownText(text: string, address?: Secret): string {
  const masked = maskEmails(printable(text));
  const hidden = address?.removeFrom(masked) ?? masked;
  return hidden.length > LONGEST ? `${hidden.slice(0, LONGEST)}…` : hidden;
}

export function shownAddress(address: string): string {
  return printable(maskEmail(address));
}
