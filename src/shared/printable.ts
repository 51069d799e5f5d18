import { harmless } from "./harmless.js";

const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;
// What cannot be seen, looks like a space, or turns the text around it.
const UNSEEN = /[\p{C}\p{DI}\u2800]|(?! )\p{Z}/gu;
// With the marks behind it: they would stand on the escape's last letter.
const UNSEEN_OR_ESCAPE = /(?:[\p{C}\p{DI}\u2800]|(?! )\p{Z})\p{M}*|\\(?=u)/gu;
const UNSEEN_OR_NOT_ASCII = /[^\x20-\x7e]|\\(?=u)/gu;
/** How many characters of a wrong value are shown. */
const LONGEST = 40;
const NOT_ASCII = /[^\x20-\x7e]/g;

/** A text from outside as one line that is safe to show, with what cannot be seen escaped. */
export function printable(text: string): string {
  return text.replace(BREAKS, " ").replace(UNSEEN, escaped);
}

/**
 * A name from outside, such as a reference, for people: what cannot be seen is escaped, so that two
 * names that differ do not look alike. `browser/pieces.js` writes them as this does.
 */
export function visible(name: string): string {
  const isComposed = name === name.normalize("NFC");
  return name.replace(isComposed ? UNSEEN_OR_ESCAPE : UNSEEN_OR_NOT_ASCII, escaped);
}

/** JSON with what cannot be seen escaped, which parsers read back. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, escaped);
}

/** What kind of value it is, for a message that must not show it. */
export function kindOf(value: unknown): string {
  if (typeof value === "string")
    return value === "" ? "an empty text" : `a text of ${value.length} characters`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return Number.isNaN(value) || !/^(number|bigint|boolean)$/.test(typeof value)
      ? shown(value)
      : `a ${typeof value}`;
  }
  const name = harmless(() => value.constructor.name);
  return name === undefined || name === "Object" || !/^\w{1,40}$/.test(name)
    ? "an object"
    : `an object (${name})`;
}

/** A wrong value, for an error's message, in ASCII: `"42" (string)`, `-1 (number)`, `an array`. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value === "object") return "an object";
  if (typeof value !== "string") return `${String(value).slice(0, LONGEST)} (${typeof value})`;
  const start = value.length > LONGEST ? `${value.slice(0, LONGEST)}...` : value;
  return `${JSON.stringify(start).replace(NOT_ASCII, escaped)} (string)`;
}

/** A name from outside, for a message in ASCII. */
export function namedAs(name: string): string {
  return /^\w{1,40}$/.test(name) ? `\`${name}\`` : shown(name);
}

function escaped(characters: string): string {
  return characters.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
