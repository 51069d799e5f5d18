import { costlyProbeMs } from "./when-again.js";

/** So many lost answers, or so many slow attempts if none was lost yet, are an outage. */
const LOST_ANSWERS = 2;
const SLOW_ATTEMPTS = 3;

/** An outage of an endpoint that all processes on the storage know of, in this process's time. */
export interface KnownOutage {
  readonly since: number;
  /** When the last event was held; now if another process's attempt is under way. */
  readonly lastAt: number;
  /** When the next attempt may begin. */
  readonly probeAt: number;
}

/**
 * What the processes on one storage know together: they risk what one would. One lost answer alone
 * is no outage: a service may lose one in ten, and the processes would wait for each other all the
 * time. Pure.
 *
 * @param heldMs how long ago each event was held since the endpoint last took one.
 * @param seenAt since when each attempt of another process has been seen under way.
 * @param own this process's last pass, and after how long it takes an attempt for slow.
 */
export function knownOutage(
  heldMs: readonly number[],
  seenAt: readonly number[],
  { now, passedAt, patienceMs }: { now: number; passedAt: number; patienceMs: number },
): KnownOutage | undefined {
  const held = heldMs.map((ms) => now - ms).filter((at) => at > passedAt);
  const slow = seenAt.filter((at) => at > passedAt && now - at >= patienceMs);
  if (held.length + slow.length < (held.length > 0 ? LOST_ANSWERS : SLOW_ATTEMPTS)) return undefined;
  const since = Math.min(...held, ...slow);
  // While another process's attempt is under way, no probe begins.
  const lastAt = seenAt.length > 0 ? now : Math.max(...held);
  return { since, lastAt, probeAt: lastAt + costlyProbeMs(lastAt - since) };
}
