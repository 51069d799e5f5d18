import { harmless } from "./harmless.js";
import { shown } from "./printable.js";

/** Money in major units: 19.9, `"19.90"`, or an object with such a text, as an ORM's. @inline */
export type Amount = number | string | object;

// As a database writes NUMERIC: no plus sign, no exponent, no separators.
const DECIMAL = /^-?(?:\d+(?:\.\d*)?|\.\d+)$/;

/** The most characters of an amount. Postgres writes some 20 decimals of a quotient. */
const LONGEST = 128;

/**
 * Reads an amount. Database drivers return decimals as text, and ORMs as objects of decimal.js and
 * the like.
 *
 * @returns the amount without binary noise, or a text that says what is wrong with it.
 */
export function amountFrom(given: unknown): number | string {
  const text = textOf(given);
  const isDecimal = text !== undefined && text.length <= LONGEST && DECIMAL.test(text);
  const amount = typeof given === "number" ? given : isDecimal ? Number(text) : Number.NaN;
  // Without the minus of a negative zero.
  if (amount >= 0 && amount < Number.POSITIVE_INFINITY) return withoutNoise(Math.abs(amount));
  const got =
    typeof given === "object" && text !== undefined ? `an object with the text ${shown(text)}` : shown(given);
  const hint = typeof given === "bigint" ? ": minor units?" : "";
  return `must be a decimal amount that is not negative, such as 19.9 or "19.90", got ${got}${hint}`;
}

/** 59.7 for 59.699999999999996, which is binary noise. No decimal of 14 digits is changed. */
function withoutNoise(amount: number): number {
  const rounded = Number(amount.toPrecision(13));
  return Math.abs(rounded - amount) < amount * 5e-15 ? rounded : amount;
}

/** The text of an object of a class that has one, such as an ORM's decimal. */
export function textOf(given: unknown): string | undefined {
  if (typeof given === "string") return given;
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const text = harmless(() => String(given));
  return typeof text === "string" ? text : undefined;
}
