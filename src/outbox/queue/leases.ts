import type { Claim } from "../claim.js";
import { type Moment, momentBy, type TwoClocks } from "../lease.js";
import type { Database } from "./database.js";
import { CLAIMED } from "./ranks.js";
import { type EventRow, marks } from "./rows.js";

/** An event that this process has claimed. */
export interface QueueClaim extends Claim {
  readonly seq: number;
  readonly visitor: string;
  /** The number of its endpoint. */
  readonly endpoint: number;
  /** Since when it was ready, by the database's clock. */
  readonly dueAt: number;
  /** When its last claim or renewal was requested; `undefined`: not by this thread, or lost. */
  leasedSince: Moment | undefined;
  isHeld(): boolean;
}

/** By the number of their rows. */
export type UnderWay = Map<number, QueueClaim>;

/** Looks after the claims whose attempts are under way. */
export function createLeases(
  database: Database,
  {
    worker,
    leaseMs,
    clock,
    underWay,
  }: { worker: string; leaseMs: number; clock: TwoClocks; underWay: UnderWay },
) {
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
     * Renews the leases, and finds out which claims are another process's by now. Waits for no lock:
     * what is locked is about to be settled, or the next renewal finds it.
     */
    async renew(): Promise<void> {
      if (underWay.size === 0) return;
      const since = momentBy(clock);
      const claims = [...underWay.values()];
      const visitors = claims.map(({ visitor }) => visitor);
      const select = `select visitor, head from ${queues}
        where turn = ${CLAIMED} and claimed_by = ? and visitor in (${marks(visitors)})`;
      const [renewed, own] = await database.transaction(async (tx) => {
        const found = await tx.rows(`${select}${words.skipLocked}`, [worker, ...visitors]);
        if (found.length > 0) {
          await tx.write(
            `update ${queues} set due_at = ${now} + ${leaseMs} where visitor in (${marks(found)})`,
            found.map(({ visitor }) => visitor),
          );
        }
        const all = found.length < claims.length ? await tx.rows(select, [worker, ...visitors]) : found;
        return [found, all].map((rows) => new Set(rows.map(({ head }) => head)));
      });
      for (const claim of claims) {
        if (renewed?.has(claim.seq)) claim.leasedSince = since;
        else if (!own?.has(claim.seq)) claim.leasedSince = undefined;
      }
    },
  };
}
