import { isWithin, type Moment, momentBy } from "../lease.js";
import type { Holdings } from "./holdings.js";
import type { OwnerLocks } from "./owner-locks.js";
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

/** How many looks without a heartbeat in between end the lease of another process. */
export const LOOKS = 4;
/** The same, where the process has lost its lock. */
export const LOOKS_WITHOUT_LOCK = 2;

let lives = 0;

/** What keeps a file in order while processes and clocks come and go. */
export function createUpkeep(
  db: Database,
  parts: {
    holdings: Holdings;
    owner: string;
    leaseMs: number;
    locks: Pick<OwnerLocks, "hasEnded" | "removeEnded"> | undefined;
  },
) {
  const { holdings, owner, leaseMs, locks } = parts;
  const { takeOver, shift } = prepareAll(db, STATEMENTS);
  const silent = createSilence();
  const unlocked = createSilence();
  let pulse = 1;
  let life: Life = { shownAt: momentBy(), number: ++lives };

  function showLife(): number {
    const isTheSame = isWithin(leaseMs * SAFE_SHARE, life.shownAt);
    life = { shownAt: momentBy(), number: isTheSame ? life.number : ++lives };
    return ++pulse;
  }

  function others() {
    return holdings.holders.filter((each) => each.owner !== owner);
  }

  function takeOverFrom(other: string, now: number): void {
    const places = holdings.places(other);
    takeOver.run(now, JSON.stringify(places));
    for (const seq of places) holdings.remove(seq);
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
     * Takes over from processes without a heartbeat at several looks in a row. No clock decides it: a clock may be set, and
     * after a pause of the whole machine every process would look dead. Of two leases, the longer counts.
     */
    takeOverFromSilent(now: number): void {
      const present = others();
      silent.forgetAllBut(present);
      for (const other of present) {
        const looks = LOOKS * Math.max(1, other.leaseMs / leaseMs);
        if (silent.looksAt(other) >= looks) takeOverFrom(other.owner, now);
      }
      locks?.removeEnded(others().map((other) => other.owner));
    },
    /**
     * Takes over from processes whose lock the operating system has dropped. It also drops the lock of a process that copies the
     * lock's file and lives on: so no heartbeat may have come for some looks either. Returns whether it took anything.
     */
    takeOverFromKilled(now: number): boolean {
      const ended = others().filter((other) => locks?.hasEnded(other.owner));
      unlocked.forgetAllBut(ended);
      const gone = ended.filter((other) => unlocked.looksAt(other) >= LOOKS_WITHOUT_LOCK);
      for (const other of gone) takeOverFrom(other.owner, now);
      return gone.length > 0;
    },
    /** A disk that refused this process a write may have refused the others theirs: that does not mean that they have ended. */
    forgetWhatWasSeen(): void {
      silent.forgetAllBut([]);
      unlocked.forgetAllBut([]);
    },
    /** Where the clock was set back since the last change, moves what waits for a time that is now far off. */
    followClock(now: number, changedAt: number): void {
      if (now < changedAt - TOLERANCE_MS) shift.run(changedAt - now, now);
    },
  };
}

interface Process {
  readonly owner: string;
  readonly pulse: number;
}

/** Counts the looks at other processes without a heartbeat in between. */
function createSilence() {
  const seen = new Map<string, { readonly pulse: number; readonly looks: number }>();

  return {
    /** How many looks in a row, this one included, have found the same heartbeat as the one before. */
    looksAt({ owner, pulse }: Process): number {
      const before = seen.get(owner);
      const looks = before?.pulse === pulse ? before.looks + 1 : 0;
      seen.set(owner, { pulse, looks });
      return looks;
    },
    forgetAllBut(present: readonly Process[]): void {
      for (const owner of seen.keys()) if (!present.some((each) => each.owner === owner)) seen.delete(owner);
    },
  };
}
