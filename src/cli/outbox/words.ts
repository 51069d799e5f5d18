/** `1 event`, `2 events`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const UNITS = [
  ["day", 24 * 60 * 60 * 1_000],
  ["hour", 60 * 60 * 1_000],
  ["minute", 60 * 1_000],
] as const;

/** A duration in its largest unit: `3 hours`. */
export function spanOf(ms: number): string {
  for (const [unit, length] of UNITS) {
    if (ms >= length) return countOf(Math.floor(ms / length), unit);
  }
  return "less than a minute";
}

/** A time in ISO 8601. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
