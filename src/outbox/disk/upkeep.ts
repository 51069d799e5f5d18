import { isWithin, type Moment, momentBy } from "../lease.js";
import type { Holdings } from "./holdings.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  takeOver: `
    update events set interrupted = 1, ready_at = ? where seq in (select value from json_each(?))`,
  shift: `
    update events set ready_at = ready_at - ?1
    where destination in (select number from destinations) and ready_at < ${BEHIND} and tried = 1 and ready_at > ?2`,
} as const;

const TOLERANCE_MS = 1_000;
// Others may take an event over after a lease, or three quarters of one after the last sign of life that they have seen.
const SAFE_SHARE = 0.6;

/** A time during which this process showed so often that it lives that no other can have taken its claims over. */
export interface Life {
  readonly number: number;
  /** When it last showed that it lives. */
  readonly shownAt: Moment;
}

/** Whether what was claimed in that life is this process's still. */
export function isHeld(claimedIn: number, { number, shownAt }: Life, leaseMs: number): boolean {
  return claimedIn === number && isWithin(leaseMs * SAFE_SHARE, shownAt);
}

/** How often a process is looked at, to no avail, before it is taken for dead. */
export const LOOKS = 4;

let lives = 0;

/** What keeps a file in order while processes and clocks come and go. */
export function createUpkeep(
  db: Database,
  { holdings, owner, leaseMs }: { holdings: Holdings; owner: string; leaseMs: number },
) {
  const { takeOver, shift } = prepareAll(db, STATEMENTS);
  const seen = new Map<string, { pulse: number; looks: number }>();
  let pulse = 1;
  let life: Life = { shownAt: momentBy(), number: ++lives };

  function showLife(): number {
    const isTheSame = isWithin(leaseMs * SAFE_SHARE, life.shownAt);
    life = { shownAt: momentBy(), number: isTheSame ? life.number : ++lives };
    return ++pulse;
  }

  return {
    get life() {
      return life;
    },
    /** A sign of life for a claim to carry. Other processes go by the last that they see, on whatever claim it is. */
    showLife,
    /** Shows that this process lives, on all that it has claimed. */
    beat(): void {
      holdings.show(owner, showLife());
    },
    /**
     * Takes over what another process has claimed, when that process has shown no sign of life at several looks in a row.
     * No clock decides it: a clock may be set, and after a pause of the whole machine every process would look dead.
     */
    takeOverFromEnded(now: number): void {
      const others = holdings.holders.filter((each) => each.owner !== owner);
      for (const gone of [...seen.keys()].filter((id) => !others.some((other) => other.owner === id)))
        seen.delete(gone);
      for (const { owner: other, pulse: shown } of others) {
        const before = seen.get(other);
        const looks = before && before.pulse === shown ? before.looks + 1 : 0;
        seen.set(other, { pulse: shown, looks });
        if (looks < LOOKS) continue;
        const places = holdings.places(other);
        takeOver.run(now, JSON.stringify(places));
        for (const seq of places) holdings.remove(seq);
      }
    },
    /** A disk that refused this process a write may have refused the others theirs: that does not mean that they have ended. */
    forgetWhatWasSeen(): void {
      seen.clear();
    },
    /** Where the clock was set back since the last change, moves what waits for a time that is now far off. */
    followClock(now: number, changedAt: number): void {
      if (now < changedAt - TOLERANCE_MS) shift.run(changedAt - now, now);
    },
  };
}
