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
