import { momentBy } from "../../lease.js";
import { type Cache, CLOCK_TOLERANCE_MS } from "./cache.js";
import { isStillOwned, type LeaseEpoch, LOOKS } from "./lease-epoch.js";

export const STATEMENTS = {
  takeOver: `
    update events set interrupted = 1, state = case state when 'new' then 'ready' else state end, ready_at = ?
    where seq in (select value from json_each(?))`,
  shift: `
    update events set ready_at = ready_at - ?1
    where destination = ?3 and state = 'tried' and ready_at > ?2`,
} as const;

/** Chosen: so few looks are enough if the process has lost its lock. */
export const LOOKS_WITHOUT_LOCK = 2;

let epochs = 0;

export interface Locks {
  hasEnded(owner: string): boolean;
  removeEnded(owners: readonly string[]): void;
}

export type Upkeep = ReturnType<typeof createUpkeep>;

/** Renews this process's lease, takes over from ended ones, and follows a clock that was set. */
export function createUpkeep(
  cache: Cache,
  { owner, leaseMs, locks }: { owner: string; leaseMs: number; locks: Locks | undefined },
) {
  const { takeOver, shift } = cache.prepare(STATEMENTS);
  const silent = createMissedHeartbeats();
  const unlocked = createMissedHeartbeats();
  let heartbeat = 1;
  let leaseEpoch: LeaseEpoch = { renewedAt: momentBy(), number: ++epochs };

  function renewLease() {
    const isTheSame = isStillOwned(leaseEpoch.number, leaseEpoch, leaseMs);
    leaseEpoch = { renewedAt: momentBy(), number: isTheSame ? leaseEpoch.number : ++epochs };
    return { owner, leaseMs, heartbeat: ++heartbeat };
  }

  function others() {
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
    /** Returns this process with a new heartbeat. Other processes judge by the last one stored. */
    renewLease,
    /** Renews the lease on all claims of this process. */
    beat(): void {
      cache.known.claims.renew(renewLease());
    },
    /**
     * Takes over from processes without a new heartbeat at several looks in a row. No clock
     * decides: one may be set, and after a pause of the machine every process would look dead. Of
     * two leases, the longer counts.
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
     * Takes over from processes whose lock the operating system dropped. It also drops the lock of
     * a running process that copies the lock's file, so they must show no new heartbeat, too.
     */
    takeOverFromKilled(now: number): void {
      const ended = others().filter((other) => locks?.hasEnded(other.owner));
      unlocked.forgetAllBut(ended);
      const gone = ended.filter((other) => unlocked.looksAt(other) >= LOOKS_WITHOUT_LOCK);
      for (const other of gone) takeOverFrom(other.owner, now);
    },
    /** Counts anew: a disk that failed this process may have refused others their heartbeats. */
    forgetWhatWasSeen(): void {
      silent.forgetAllBut([]);
      unlocked.forgetAllBut([]);
    },
    /** If the clock was set back, brings forward retries that would wait too long. */
    followClock(now: number): void {
      const { changedAt, totals } = cache.known;
      if (now >= changedAt - CLOCK_TOLERANCE_MS) return;
      for (const destination of totals.destinations) shift.run(changedAt - now, now, destination);
    },
  };
}

/** Counts, for each other process, the looks in a row that found no new heartbeat. */
function createMissedHeartbeats() {
  const seen = new Map<string, { readonly heartbeat: number; readonly looks: number }>();

  return {
    /** How many looks in a row, with this one, found no heartbeat newer than the look before. */
    looksAt({ owner, heartbeat }: { owner: string; heartbeat: number }): number {
      const before = seen.get(owner);
      const looks = before?.heartbeat === heartbeat ? before.looks + 1 : 0;
      seen.set(owner, { heartbeat, looks });
      return looks;
    },
    forgetAllBut(present: readonly { owner: string }[]): void {
      for (const owner of seen.keys()) if (!present.some((each) => each.owner === owner)) seen.delete(owner);
    },
  };
}
