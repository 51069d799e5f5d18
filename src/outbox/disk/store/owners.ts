import { CLAIMED } from "../../queue/ranks.js";
import { marks } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";

/** Chosen: about 1.5 s if the process has lost its lock. One whose thread ended has it again by then. */
export const LOOKS_WITHOUT_LOCK = 3;

export interface Locks {
  hasEnded(owner: string): boolean;
  removeEnded(owners: readonly string[]): void;
}

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
  async function others(): Promise<Map<string, number>> {
    const rows = await database.rows<{ claimed_by: string; until: number }>(
      `select claimed_by, max(due_at) as until from ${queues}
       where ${isClaimed()} and claimed_by <> ? group by claimed_by`,
      [...destinations(), owner],
    );
    return new Map(rows.map(({ claimed_by, until }) => [claimed_by, until]));
  }

  return {
    /**
     * Ends the leases of processes whose lock the operating system has dropped. It also drops the
     * lock of a running process that copies the lock's file, so they must not renew them, too.
     */
    async endKilled(): Promise<void> {
      const seen = new Map<string, { until: number; looks: number }>();
      for (const [other, until] of await others()) {
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
      locks?.removeEnded([...(await others()).keys()]);
    },
    /** Counts looks anew: a disk that failed this process may have refused others their renewals. */
    forgetWhatWasSeen(): void {
      silent = new Map();
    },
  };
}
