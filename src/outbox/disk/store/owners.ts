import { CLAIMED } from "../../queue/ranks.js";
import type { SqliteDatabase } from "../file/dialect.js";

/** Chosen: so few looks are enough if the process has lost its lock. */
export const LOOKS_WITHOUT_LOCK = 2;

export interface Locks {
  hasEnded(owner: string): boolean;
  removeEnded(owners: readonly string[]): void;
}

/** The processes that have claimed events. */
export function createOwners(
  database: SqliteDatabase,
  { owner, locks }: { owner: string; locks?: Locks | undefined },
) {
  const { queues } = database.words;
  const isClaimed = `destination = ? and turn = ${CLAIMED}`;
  /** For each that seems to have ended: the end of its lease, and at how many looks it was that. */
  let silent = new Map<string, { readonly until: number; readonly looks: number }>();

  /** Until when the leases of other processes last. */
  async function others(destinations: readonly number[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const destination of destinations) {
      const rows = await database.rows<{ claimed_by: string; until: number }>(
        `select claimed_by, max(due_at) as until from ${queues} where ${isClaimed} group by claimed_by`,
        [destination],
      );
      for (const { claimed_by, until } of rows)
        if (claimed_by !== owner) found.set(claimed_by, Math.max(until, found.get(claimed_by) ?? 0));
    }
    return found;
  }

  return {
    others,
    /**
     * Ends the leases of processes whose lock the operating system has dropped. It also drops the
     * lock of a running process that copies the lock's file, so they must not renew them, too.
     */
    async endKilled(destinations: readonly number[]): Promise<void> {
      const seen = new Map<string, { until: number; looks: number }>();
      for (const [other, until] of await others(destinations)) {
        if (!locks?.hasEnded(other)) continue;
        const before = silent.get(other);
        const looks = before?.until === until ? before.looks + 1 : 0;
        seen.set(other, { until, looks });
        if (looks < LOOKS_WITHOUT_LOCK) continue;
        for (const destination of destinations) {
          await database.write(`update ${queues} set due_at = 0 where ${isClaimed} and claimed_by = ?`, [
            destination,
            other,
          ]);
        }
      }
      silent = seen;
    },
    /** Removes the locks of ended processes that have no claims. */
    async removeLocks(destinations: readonly number[]): Promise<void> {
      locks?.removeEnded([...(await others(destinations)).keys()]);
    },
    /** Counts looks anew: a disk that failed this process may have refused others their renewals. */
    forgetWhatWasSeen(): void {
      silent = new Map();
    },
  };
}
