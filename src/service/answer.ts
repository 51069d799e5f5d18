import type { Answer } from "./attempt.js";
import { fieldOf, textOf } from "./body.js";

// `false` as a boolean, a number or a text.
const SPELLINGS_OF_FALSE = new Set(["false", "0", "no"]);

/** Any 2xx, unless its body says `success: false`, or has an `error` (§7) and no `success`. */
export function isYes({ status, body }: Answer): boolean {
  if (status < 200 || status >= 300) return false;
  const success = fieldOf(body, "success") ?? undefined;
  if (success === undefined) return textOf(body, "error") === undefined;
  return typeof success === "object" || !SPELLINGS_OF_FALSE.has(String(success).trim().toLowerCase());
}

/** A refusal's status, and its error body (§7) if readable. `hide` removes secrets from texts. */
export function refusalOf(
  { status, body, retryAfter }: Answer,
  { now, hide }: { now: number; hide: (text: string) => string },
) {
  const clip = (text: string) => hide(text).slice(0, 500);
  return {
    status,
    error: clip(textOf(body, "error") ?? String(status)),
    message: clip(textOf(body, "message") ?? `the service answered ${status}`),
    retryAfterMs: retryAfterMs(retryAfter, now),
  };
}

/**
 * The service's number for a registration or payment (§2.3): a positive integer, or its digits.
 * `undefined` if the answer has none, or one that a JavaScript number does not hold exactly.
 */
export function leadIdOf(body: unknown): number | undefined {
  const { leadId } = Object(body) as { leadId?: unknown };
  const number = typeof leadId === "string" && /^[0-9]{1,16}$/.test(leadId) ? Number(leadId) : leadId;
  return Number.isSafeInteger(number) && (number as number) > 0 ? (number as number) : undefined;
}

/** How long Retry-After (RFC 9110, 10.2.3) asks to wait. `undefined` if it cannot be read. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse alone takes nearly anything, such as "-5". An HTTP date begins with the day's name,
  // and is in GMT even in its one form that does not say so.
  const isDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text);
  const date = isDate ? Date.parse(text.endsWith("GMT") ? text : `${text} GMT`) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
