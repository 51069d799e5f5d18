// Control, format (invisible, or changing the text's direction), line separators, half characters.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
const NOT_ASCII = /[^\x20-\x7e]/g;

/** A text from outside as one line that is safe to show: invisible characters become a space. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, " ");
}

/** JSON with invisible characters escaped, which parsers read back. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, escaped);
}

/** A wrong value, for an error's message, in ASCII: `"42" (string)`, `-1 (number)`, `an array`. */
export function shown(value: unknown, longest = 40): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value === "object") return "an object";
  if (typeof value !== "string") return `${String(value).slice(0, longest)} (${typeof value})`;
  const start = value.length > longest ? `${value.slice(0, longest)}...` : value;
  return `${JSON.stringify(start).replace(NOT_ASCII, escaped)} (string)`;
}

function escaped(characters: string): string {
  let escapes = "";
  for (let at = 0; at < characters.length; at++) {
    escapes += `\\u${characters.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return escapes;
}
