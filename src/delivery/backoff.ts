const FIRST_MS = 250;
const GROWTH = 1.5;
const LONGEST_MS = 15 * 60 * 1_000;

/**
 * How long an event rests after its nth failure, in milliseconds: half to all of 250 ms, 375 ms, 563 ms, … 15 min. Jittered, so
 * that events that failed together do not come back together. It grows by half and does not double: else, while half of all
 * attempts fail, the unluckiest of thousands of events would wait for minutes.
 *
 * @param random a number from 0 up to 1.
 */
export function backoffMs(failures: number, random: number): number {
  return (0.5 + random / 2) * Math.min(LONGEST_MS, FIRST_MS * GROWTH ** (failures - 1));
}
