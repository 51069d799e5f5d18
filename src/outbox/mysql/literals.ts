/**
 * SQL literals, for statements without parameters: their text runs on any driver, in any library's
 * transaction, whatever `sql_mode` says of quotes and backslashes. They are only numbers,
 * hexadecimal digits and words of this package.
 */

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

/** For `in (…)`, never empty. */
export function listOf(values: readonly string[]): string {
  return values.length === 0 ? "null" : values.join(", ");
}

/** SQL: the row is one of these. `row`: its name in the statement. */
export function isOneOf(rows: readonly { readonly seq: number }[], row?: string): string {
  return `${row ? `${row}.seq` : "seq"} in (${listOf(rows.map(({ seq }) => integer(Number(seq))))})`;
}

/** Milliseconds since the epoch; by UTC, so that no time zone matters. */
export const NOW = "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)";

/** When an event is due, or its lease ends. */
export const due = (at: string) => `due_at = ${at}, written_at = ${NOW}`;
