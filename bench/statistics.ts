/**
 * The middle one: a few that are out of the ordinary change nothing. Of an even number, the mean of
 * the two in the middle.
 */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (index: number) => sorted[Math.floor(index)] as number;
  const middle = (sorted.length - 1) / 2;
  return (at(middle) + at(middle + 0.5)) / 2;
}

/** The median of one column. */
export function medianOf<Row>(rows: readonly Row[], of: (row: Row, index: number) => number): number {
  return median(rows.map(of));
}
