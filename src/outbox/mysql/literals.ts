/**
 * Values as SQL literals, for statements without parameters: the same text runs on any driver and in any library's transaction, whatever
 * the server's `sql_mode` says of quotes and backslashes. The literals are only numbers, hexadecimal digits and words of this package.
 */

/** An integer; `null`: none. */
export function integer(value: number | null): string {
  return value === null ? "null" : String(BigInt(Math.round(value)));
}

/** 32 hexadecimal digits, as `binary(16)`. */
export function binary(hex: string): string {
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new TypeError(`not 32 hexadecimal digits: ${hex}`);
  return `x'${hex}'`;
}

/** A text of ASCII characters; `null`: none. */
export function ascii(value: string | null | undefined): string {
  return value === null || value === undefined
    ? "null"
    : `_ascii x'${Buffer.from(value, "latin1").toString("hex")}'`;
}

/** A text of any characters. */
export function unicode(value: string): string {
  return `_utf8mb4 x'${Buffer.from(value, "utf8").toString("hex")}'`;
}

/** What `in (…)` takes: never empty. */
export function listOf(values: readonly string[]): string {
  return values.length === 0 ? "null" : values.join(", ");
}

/** The server's time in milliseconds since the epoch; in UTC, so that no time zone matters. */
export const NOW = "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)";

/** Sets when an event is due, or its lease ends. */
export const due = (at: string) => `due_at = ${at}, written_at = ${NOW}`;
