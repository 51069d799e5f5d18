const DAY_MS = 86_400_000;

/** The day of the year, in UTC. With `--short`, proofs choose by it what they show today. */
export function dayOfYear(): number {
  const now = new Date();
  return Math.floor((now.getTime() - Date.UTC(now.getUTCFullYear(), 0, 0)) / DAY_MS);
}

/** One of the list. By default, another one each day. */
export function inTurn<T>(list: readonly T[], turn = dayOfYear()): T {
  return list[turn % list.length] as T;
}
