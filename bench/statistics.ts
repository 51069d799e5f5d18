/** The middle one: a few that are out of the ordinary change nothing. */
export function median(numbers: readonly number[]): number {
  return percentile(numbers, 0.5);
}

/** @param share 0.99 for the 99th percentile. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}
