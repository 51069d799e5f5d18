import { isWithin, type Moment, momentBy } from "../lease.js";
import { type Cache, CLOCK_TOLERANCE_MS } from "./cache.js";
import type { Claimer } from "./claimed-events.js";
import type { OwnerLocks } from "./owner-locks.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  takeOver: `
    update events set interrupted = 1, state = case state when 'new' then 'ready' else state end, ready_at = ?
    where seq in (select value from json_each(?))`,
  shift: `
    update events set ready_at = ready_at - ?1
    where destination = ?3 and state = 'tried' and ready_at > ?2`,
} as const;

// Another process may take an event over three quarters of a lease after the last heartbeat that it has seen.
const SAFE_SHARE = 0.6;

/** A period of unbroken heartbeats: no other process can have taken over what this one claimed in it. */
export interface LeaseEpoch {
  readonly number: number;
  /** When the lease was last renewed. */
  readonly renewedAt: Moment;
}

/** Whether an event that was claimed in that epoch is still this process's. */
export function isStillOwned(
  claimedIn: number,
  { number, renewedAt: shownAt }: LeaseEpoch,
  leaseMs: number,
): boolean {
  return claimedIn === number && isWithin(leaseMs * SAFE_SHARE, shownAt);
}

/** After how many looks in a row without a new heartbeat the lease of another process ends. */
export const LOOKS = 4;
/** The same for a process that has lost its lock. */
export const LOOKS_WITHOUT_LOCK = 2;

let epochs = 0;

export type Upkeep = ReturnType<typeof createUpkeep>;

/** Renews this process's lease, takes over from processes that have ended, and follows a clock that was set. */
export function createUpkeep(
  db: Database,
  cache: Cache,
  process: {
    readonly owner: string;
    readonly leaseMs: number;
    readonly locks: Pick<OwnerLocks, "hasEnded" | "removeEnded"> | undefined;
  },
) {
  const { owner, leaseMs, locks } = process;
  const { takeOver, shift } = prepareAll(db, STATEMENTS);
  const silent = createMissedHeartbeats();
  const unlocked = createMissedHeartbeats();
  let heartbeat = 1;
  let leaseEpoch: LeaseEpoch = { renewedAt: momentBy(), number: ++epochs };

  function renewLease(): Claimer {
    const isTheSame = isWithin(leaseMs * SAFE_SHARE, leaseEpoch.renewedAt);
    leaseEpoch = { renewedAt: momentBy(), number: isTheSame ? leaseEpoch.number : ++epochs };
    return { owner, leaseMs, heartbeat: ++heartbeat };
  }

  function others(): readonly Claimer[] {
    return cache.known.claims.claimers.filter((each) => each.owner !== owner);
  }

  function takeOverFrom(other: string, now: number): void {
    const { claims } = cache.known;
    const seqs = claims.seqs(other);
    takeOver.run(now, JSON.stringify(seqs));
    for (const seq of seqs) claims.remove(seq);
    cache.renew(now);
  }

  return {
    get leaseEpoch() {
      return leaseEpoch;
    },
    /** Returns this process with a heartbeat to store with a claim. Other processes go by its last one. */
    renewLease,
    /** Renews the lease on all that this process has claimed. */
    beat(): void {
      cache.known.claims.renew(renewLease());
    },
    /**
     * Takes over from processes without a new heartbeat at several looks in a row. No clock decides it: a clock may be set, and
     * after a pause of the whole machine every process would look dead. Of two leases, the longer counts.
     */
    takeOverFromSilent(now: number): void {
      const present = others();
      silent.forgetAllBut(present);
      const gone = present.filter(
        (other) => silent.looksAt(other) >= LOOKS * Math.max(1, other.leaseMs / leaseMs),
      );
      for (const other of gone) takeOverFrom(other.owner, now);
      locks?.removeEnded(others().map((other) => other.owner));
    },
    /**
     * Takes over from processes whose lock the operating system has dropped. It also drops the lock of a running process that
     * copies the lock's file: so the heartbeat must be missing for some looks, too.
     */
    takeOverFromKilled(now: number): void {
      const ended = others().filter((other) => locks?.hasEnded(other.owner));
      unlocked.forgetAllBut(ended);
      const gone = ended.filter((other) => unlocked.looksAt(other) >= LOOKS_WITHOUT_LOCK);
      for (const other of gone) takeOverFrom(other.owner, now);
    },
    /** Begins to count anew. A disk that refused this process a write may have refused the others their heartbeats. */
    forgetWhatWasSeen(): void {
      silent.forgetAllBut([]);
      unlocked.forgetAllBut([]);
    },
    /** Where the clock was set back since the last change, brings forward the retries that would wait too long. */
    followClock(now: number): void {
      const { changedAt, totals } = cache.known;
      if (now >= changedAt - CLOCK_TOLERANCE_MS) return;
      for (const destination of totals.destinations) shift.run(changedAt - now, now, destination);
    },
  };
}

type Process = Pick<Claimer, "owner" | "heartbeat">;

/** Counts, for each other process, the looks in a row that found no new heartbeat. */
function createMissedHeartbeats() {
  const seen = new Map<string, { readonly heartbeat: number; readonly looks: number }>();

  return {
    /** How many looks in a row, this one included, have found the same heartbeat as the one before. */
    looksAt({ owner, heartbeat }: Process): number {
      const before = seen.get(owner);
      const looks = before?.heartbeat === heartbeat ? before.looks + 1 : 0;
      seen.set(owner, { heartbeat, looks });
      return looks;
    },
    forgetAllBut(present: readonly Process[]): void {
      for (const owner of seen.keys()) if (!present.some((each) => each.owner === owner)) seen.delete(owner);
    },
  };
}
