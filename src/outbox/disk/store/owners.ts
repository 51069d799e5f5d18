import { CLAIMED } from "../../queue/ranks.js";
import { marks } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";
import type { OwnerLocks } from "../file/owner-locks.js";

/** Chosen: about 1.5 s if the process has lost its lock. One whose thread ended has it again by then. */
export const LOOKS_WITHOUT_LOCK = 3;

export type Locks = Pick<OwnerLocks, "stateOf" | "removeEnded">;

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
  /** Leases of processes that seem to have ended: at how many looks in a row each was unchanged. */
  let silent = new Map<string, number>();

  const isClaimed = () => `destination in (${marks(destinations())}) and turn = ${CLAIMED}`;

  /** Until when the leases of other processes last. */
  const leasesOfOthers = () =>
    database.rows<{ holder: string; until: number }>(
      `select claimed_by as holder, max(due_at) as until from ${queues}
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
      for (const { holder, until } of await leasesOfOthers()) {
        if (locks?.stateOf(holder) !== "ended") continue;
        const lease = `${holder} ${until}`;
        const looks = silent.get(lease) ?? 0;
        seen.set(lease, looks + 1);
        if (looks < LOOKS_WITHOUT_LOCK) continue;
        const end = `update ${queues} set due_at = 0 where ${isClaimed()} and claimed_by = ?`;
        await database.write(end, [...destinations(), holder]);
      }
      silent = seen;
    },
    /** Removes the locks of ended processes that have no claims. */
    async removeLocks(): Promise<void> {
      locks?.removeEnded((await leasesOfOthers()).map(({ holder }) => holder));
    },
    /** Counts looks anew: a disk that failed this process may have refused others their renewals. */
    forgetWhatWasSeen(): void {
      silent.clear();
    },
  };
}
