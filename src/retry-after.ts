/**
 * How long a Retry-After header (RFC 9110, section 10.2.3) asks to wait, in milliseconds from `now`:
 * either a whole number of seconds or an HTTP date. `undefined` where it says neither.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse alone takes nearly anything, such as "-5"; an HTTP date begins with the day's name.
  const date = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
