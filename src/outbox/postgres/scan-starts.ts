import type { Clock } from "../../shared/clock.js";
import { nameOf, type Step } from "./steps.js";

/** What a claim says of the next one. Times are the server's, in milliseconds since the epoch. */
export interface NextClaim {
  readonly at: number;
  readonly tookMs: number;
  readonly toEnter: number;
  /** Of each step that it came to; `null`: as before. */
  readonly scans: readonly (number | null)[];
}

/** From when on a claim scans. */
export interface Starts {
  /** When the last claim was made; `null`: this one is full, whatever else this says. */
  readonly at: number | null;
  readonly toEnter: number | undefined;
  /** Of one scan; `undefined`: from the first event. */
  readonly of: (scan: string) => number | undefined;
}

// A full claim steps over dead index entries, which stay while another session's snapshot is open.
const SHARE_OF_TIME = 1 / 20;
const AT_MOST_EVERY_MS = 1_000;
const AT_LEAST_EVERY_MS = 60_000;
const LONG_TRANSACTION_MS = 10_000;
const ANY_TIME = 0;
const TO_ENTER = "to enter";

/**
 * Knows the part of the index that has only claimed events and dead entries: claims do not scan it.
 * A full claim scans from the first event. It runs once a second (or each `pollMs`, if that is
 * less), and less often if it takes long, but at least once a minute.
 */
export function createScanStarts({ pollMs, clock }: { pollMs: number; clock: Clock }) {
  const leastMs = Math.min(pollMs, AT_MOST_EVERY_MS);
  const starts = new Map<string, number>();
  /** Due times of events that came since the last claim began, by the start of a scan's name. */
  const earlier = new Map<string, number>();
  let at: number | null = null;
  let toldAt = 0;
  let isFull = true;
  let nextFullAt = Number.NEGATIVE_INFINITY;

  /** Notes that there may be an event that is due since then, in the scans whose names begin so. */
  function include(dueAt: number, scans = ""): void {
    earlier.set(scans, Math.min(earlier.get(scans) ?? dueAt, dueAt));
  }

  return {
    include,
    next(): Starts {
      for (const [scan, start] of starts) {
        const due = [...earlier].map(([scans, dueAt]) => (scan.startsWith(scans) ? dueAt : start));
        starts.set(scan, Math.min(start, ...due));
      }
      earlier.clear();
      isFull = at === null || clock.monotonic() >= nextFullAt;
      return { at: isFull ? null : at, toEnter: starts.get(TO_ENTER), of: (scan) => starts.get(scan) };
    },
    found(next: NextClaim, steps: readonly Step[]): void {
      if (isFull) starts.clear();
      starts.set(TO_ENTER, next.toEnter);
      for (const [nth, start] of next.scans.entries()) {
        if (start !== null) starts.set(nameOf(steps[nth] as Step), start);
      }
      at = next.at;
      toldAt = clock.monotonic();
      const restMs = Math.min(Math.max(leastMs, next.tookMs / SHARE_OF_TIME), AT_LEAST_EVERY_MS);
      if (isFull) nextFullAt = toldAt + restMs;
    },
    /** The next claim is full. */
    forget(): void {
      at = null;
    },
    /** Does work that may make events due, and notes since when: its commit may be slow. */
    async during<T>(work: () => Promise<T>): Promise<T> {
      const beganAt = clock.monotonic();
      try {
        return await work();
      } finally {
        include(at === null ? ANY_TIME : at + beganAt - toldAt);
      }
    },
    /**
     * A host's transaction was committed. The events of a long one wait for the next full claim:
     * they were due before many dead index entries.
     */
    committed(dueAt: number): void {
      if (at === null || dueAt > at - LONG_TRANSACTION_MS) include(dueAt);
    },
  };
}
