import { CLAIMED } from "../../queue/ranks.js";
import { marks } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";
import type { OwnerLocks } from "../file/owner-locks.js";

/** Chosen: about 1.5 s if the process has lost its lock. One whose thread ended has it again by then. */
export const LOOKS_WITHOUT_LOCK = 3;

export type Locks = Pick<OwnerLocks, "hasEnded" | "removeEnded">;

/** The processes that have claimed events. */
export function createOwners(
  database: SqliteDatabase,
  options: {
    owner: string;
    locks: Locks | undefined;
    /** The client ids that have events in the file. */
    destinations: () => readonly number[];
  },
) {
  const { owner, locks, destinations } = options;
  const { queues } = database.words;
  /** For each that seems to have ended: the end of its lease, and at how many looks it was that. */
  let silent = new Map<string, { readonly until: number; readonly looks: number }>();

  const isClaimed = () => `destination in (${marks(destinations())}) and turn = ${CLAIMED}`;

  /** Until when the leases of other processes last. */
  const others = () =>
    database.rows<{ other: string; until: number }>(
      `select claimed_by as other, max(due_at) as until from ${queues}
       where ${isClaimed()} and claimed_by <> ? group by claimed_by`,
      [...destinations(), owner],
    );

  return {
    /**
     * Ends the leases of processes whose lock the operating system has dropped. It also drops the
     * lock of a running process that copies the lock's file, so they must not renew them, too.
     */
    async endKilled(): Promise<void> {
      const seen: typeof silent = new Map();
      for (const { other, until } of await others()) {
        if (!locks?.hasEnded(other)) continue;
        const before = silent.get(other);
        const looks = before?.until === until ? before.looks + 1 : 0;
        seen.set(other, { until, looks });
        if (looks < LOOKS_WITHOUT_LOCK) continue;
        await database.write(`update ${queues} set due_at = 0 where ${isClaimed()} and claimed_by = ?`, [
          ...destinations(),
          other,
        ]);
      }
      silent = seen;
    },
    /** Removes the locks of ended processes that have no claims. */
    async removeLocks(): Promise<void> {
      locks?.removeEnded((await others()).map(({ other }) => other));
    },
    /** Counts looks anew: a disk that failed this process may have refused others their renewals. */
    forgetWhatWasSeen(): void {
      silent.clear();
    },
  };
}
