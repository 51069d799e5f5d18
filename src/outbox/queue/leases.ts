import type { OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import type { Claim, Verdict } from "../outbox.js";
import type { Database } from "./database.js";
import { CLAIMED } from "./ranks.js";
import { type EventRow, marks } from "./rows.js";

/** By two clocks: one may be set, the other may stand still while the machine sleeps. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly wall: number;
  /** Milliseconds of a clock that is never set. */
  readonly monotonic: number;
}

/** In milliseconds. The second is never set. */
export interface TwoClocks {
  now(): number;
  monotonic(): number;
}

/** The same in all threads; `performance.now()` counts from the start of its own thread. */
export const clockOfAllThreads: TwoClocks = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
};

/** By default, all threads of the machine agree on it. */
export function momentBy(clock: TwoClocks = clockOfAllThreads): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

// Chosen: a share of the lease. The rest allows for clocks that do not run alike.
const SAFE_SHARE = 0.9;

/** Whether a process may still trust a lease that it asked for at `since`, by both clocks. */
export function isLeasedSince(since: Moment, leaseMs: number, clock?: TwoClocks): boolean {
  const { wall, monotonic } = momentBy(clock);
  return Math.max(wall - since.wall, monotonic - since.monotonic) < SAFE_SHARE * leaseMs;
}

/** An event that this process has claimed. */
export interface QueueClaim extends Claim {
  readonly seq: number;
  readonly visitor: string;
  /** The number of its endpoint. */
  readonly endpoint: number;
  /** Its bytes, as the counts have them. */
  readonly size: number;
  /** Since when it was ready, by the database's clock. */
  readonly dueAt: number;
  /** When its last claim or renewal was requested; `undefined`: not by this thread, or lost. */
  leaseAskedAt: Moment | undefined;
  isLeased(): boolean;
}

/** What a verdict needs of its claim. */
export interface Settled
  extends Pick<QueueClaim, "seq" | "visitor" | "endpoint" | "size" | "dueAt" | "history"> {
  readonly event: Pick<OutboxEvent, "id" | "destination" | "kind">;
}

export type Settlement = readonly [claim: Settled, verdict: Verdict];

/** By the number of their rows. */
export type UnderWay = Map<number, QueueClaim>;

const headsOf = (rows: readonly { readonly head: number }[]) => new Set(rows.map(({ head }) => head));

/** Looks after the claims whose attempts are under way. */
export function createLeases(
  database: Database,
  options: { worker: string; leaseMs: number; clock: TwoClocks; underWay: UnderWay },
) {
  const { worker, leaseMs, clock, underWay } = options;
  const { words } = database;
  const { events, queues, now } = words;

  return {
    /** Their rows may have other numbers by now. */
    async findAgain(): Promise<void> {
      const claims = [...underWay.values()];
      underWay.clear();
      for (const claim of claims) {
        const { id, destination } = claim.event;
        const [row] = await database.rows<EventRow>(
          `select e.* from ${events} e where e.destination = ? and e.id = ?`,
          [destination, id],
        );
        if (!row) continue;
        const { seq, visitor } = row;
        underWay.set(seq, Object.assign(claim, { seq, visitor }));
      }
    },
    /**
     * Renews the leases, and finds out which claims are another process's by now. Waits for no lock. A
     * claim whose queue is locked is not renewed: this process trusts it only for as long as before.
     */
    async renew(): Promise<void> {
      if (underWay.size === 0) return;
      // Before the transaction: the database may be slow to answer.
      const askedAt = momentBy(clock);
      const claims = [...underWay.values()];
      const visitors = claims.map(({ visitor }) => visitor);
      const select = `select visitor, head from ${queues}
        where turn = ${CLAIMED} and claimed_by = ? and visitor in (${marks(visitors)})`;
      const { renewed, held } = await database.transaction(async (tx) => {
        const free = await tx.rows(`${select}${words.skipLocked}`, [worker, ...visitors]);
        if (free.length > 0) {
          await tx.write(
            `update ${queues} set due_at = ${now} + ${leaseMs} where visitor in (${marks(free)})`,
            free.map(({ visitor }) => visitor),
          );
        }
        const all = free.length < claims.length ? await tx.rows(select, [worker, ...visitors]) : free;
        return { renewed: headsOf(free), held: headsOf(all) };
      });
      for (const claim of claims) {
        if (renewed.has(claim.seq)) claim.leaseAskedAt = askedAt;
        else if (!held.has(claim.seq)) claim.leaseAskedAt = undefined;
      }
    },
  };
}

// For clocks that do not run alike, or are corrected by a little.
const SLACK_MS = 1_000;

export type ServerClock = ReturnType<typeof createServerClock>;

/**
 * Knows how late it can be by the database's clock, so that one that is set ahead ends no lease of a
 * process that lives. A clock that was set is believed once it has stayed so for `patienceMs`: by
 * then each process has renewed its leases by it.
 */
export function createServerClock(clock: Pick<Clock, "monotonic">, patienceMs: number) {
  let believed: { readonly now: number; readonly askedAt: number } | undefined;
  let aheadSince: number | undefined;

  /** The latest that the clock can show, unless it was set lately; `undefined` before it was asked. */
  const latest = () => believed && believed.now + clock.monotonic() - believed.askedAt + SLACK_MS;

  return {
    latest,
    /** SQL: when leases end. */
    leaseEnd: (now: string): string => {
      const time = latest();
      return time === undefined
        ? now
        : `(case when ${now} < ${Math.round(time)} then ${now} else ${Math.round(time)} end)`;
    },
    /** Takes a time that the database has told, asked for at `askedAt` by the monotonic clock. */
    tell(now: number, askedAt: number): void {
      const time = latest();
      aheadSince = time !== undefined && now > time ? (aheadSince ?? askedAt) : undefined;
      if (aheadSince !== undefined && clock.monotonic() - aheadSince < patienceMs) return;
      believed = { now, askedAt };
      aheadSince = undefined;
    },
  };
}
