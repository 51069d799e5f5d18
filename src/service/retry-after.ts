/**
 * How long a Retry-After header (RFC 9110, section 10.2.3) asks to wait, in milliseconds from `now`:
 * either a whole number of seconds or an HTTP date. `undefined` where it is neither.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse alone takes nearly anything, such as "-5"; an HTTP date begins with the day's name, and is in GMT even
  // in its one form that does not say so.
  const isDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text);
  const date = isDate ? Date.parse(text.endsWith("GMT") ? text : `${text} GMT`) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
