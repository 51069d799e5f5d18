const FIRST_MS = 1_000;
const LONGEST_MS = 15 * 60 * 1_000;

/**
 * How long an event rests after its nth failed attempt, in milliseconds: half to all of 1 s, 2 s, 4 s, … 15 min.
 * Jittered, so that what failed together does not come back together.
 *
 * @param random a number from 0 up to 1.
 */
export function backoffMs(attempt: number, random: number): number {
  return (0.5 + random / 2) * Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
}
