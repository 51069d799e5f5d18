import type { OutboxEvent } from "../../events.js";
import { printable } from "../../shared/printable.js";
import { maskEmail, maskEmails } from "../../shared/secret.js";

const UNITS = [
  ["day", 24 * 60 * 60 * 1_000],
  ["hour", 60 * 60 * 1_000],
  ["minute", 60 * 1_000],
] as const;

/** `1 event`, `2 events`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** How long, in one word and a number: `3 hours`. */
export function spanOf(ms: number): string {
  for (const [unit, length] of UNITS) {
    if (ms >= length) return countOf(Math.floor(ms / length), unit);
  }
  return "less than a minute";
}

/** What an event is about, in one line: a payment's id and amount, a customer's masked address, a click's affiliate. */
export function detailsOf(data: OutboxEvent["data"]): string {
  const { paymentId, leadValue, email, customerEmail, affiliateReference } = data as Partial<
    Record<"paymentId" | "leadValue" | "email" | "customerEmail" | "affiliateReference", string | number>
  >;
  const address = email ?? customerEmail;
  const parts = [
    paymentId !== undefined && `payment ${paymentId}`,
    leadValue,
    address !== undefined && maskEmail(String(address)),
    affiliateReference !== undefined && `affiliate ${affiliateReference}`,
  ];
  return printable(parts.filter((part) => part !== false && part !== undefined).join(", "));
}

/** What a service said about an event, in one line, without the customer's address and name. */
export function withoutCustomer(text: string, data: OutboxEvent["data"]): string {
  const { email, customerEmail, customerName } = data as Partial<
    Record<"email" | "customerEmail" | "customerName", string>
  >;
  // In parts too, but as whole words: an Al must not be found in "already".
  const names = customerName === undefined ? [] : [customerName, ...customerName.split(/\s+/)];
  const patterns = [
    ...[email, customerEmail].filter((address) => address !== undefined).map(literally),
    ...names.filter(Boolean).map((name) => `(?<![\\p{L}\\p{N}])${literally(name)}(?![\\p{L}\\p{N}])`),
  ];
  const hidden = patterns.reduce((left, pattern) => left.replaceAll(new RegExp(pattern, "giu"), "***"), text);
  return printable(maskEmails(hidden));
}

function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
