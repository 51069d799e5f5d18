import type { OutboxEvent } from "../../../conversion/events.js";
import type { Clock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import type { OwnerLocks } from "../file/owner-locks.js";
import type { Store, TransactionOutcome } from "../store/store.js";
import { eventFromLine, type FoundSpool, readSpool, removeSpool, spoolsBeside } from "./spool-files.js";

// So few that others can write in between.
const LINES_AT_ONCE = 200;
/** Chosen: a writer that lives looks every 100 ms whether its file was deleted. */
export const SETTLE_MS = 250;
// Chosen: a process whose thread has ended by itself has its lock again by then, and its events.
const SETTLE_FULL_MS = 2_000;

export type TakeIn = ReturnType<typeof createTakeIn>;

interface Reading extends FoundSpool {
  /** Those that are not stored yet. */
  readonly lines: string[];
  /** For which there was no space, in parts. */
  readonly full: OutboxEvent[][];
  damaged: number;
  /** When the last line was stored; `undefined`: not yet. */
  storedAt?: number;
}

/**
 * Stores what ended processes left in their spool files, a few lines at a time. A known id is a
 * duplicate: a line may be read twice, or by two processes. A file that has not changed for a while
 * since it was read is removed. The process that removes it reports what is lost, and the others stop
 * storing it.
 *
 * An event that a full outbox has dropped is stored if there is space by now, and otherwise dropped
 * again. To note each drop in its transaction would prevent that. But if a process ended before it
 * emitted `dropped`, no process would report the loss.
 *
 * If only a process's thread has ended, and its lock with it, what that process has just reported
 * may be stored here first, and is then a duplicate to it. It sees that its file was deleted, and
 * begins another one.
 *
 * The lines come after all that their process had stored, in their order. An event of the same
 * visitor that another process has stored meanwhile comes before them.
 */
export function createTakeIn(
  path: string,
  locks: Pick<OwnerLocks, "stateOf">,
  clock: Pick<Clock, "monotonic">,
) {
  /** The files that were read to their end. */
  const stored = new Map<string, Reading>();
  let current: Reading | undefined;

  function next(): Reading | undefined {
    const spools = spoolsBeside(path);
    for (const file of stored.keys()) if (!spools.some((spool) => spool.path === file)) stored.delete(file);
    for (const spool of spools) {
      if (locks.stateOf(spool.owner) === "running") continue;
      const before = stored.get(spool.path);
      // A file that is being written changes all the time.
      const settleMs = before?.full.length ? SETTLE_FULL_MS : SETTLE_MS;
      if (before?.storedAt !== undefined && clock.monotonic() - before.storedAt < settleMs) continue;
      try {
        if (before?.version !== spool.version) {
          const lines = readSpool(spool.path).split("\n");
          return { ...spool, lines: lines.filter((line) => line !== ""), full: [], damaged: 0 };
        }
        removeSpool(spool.path);
        if (before.full.length + before.damaged > 0) return before;
      } catch {
        // Another process was faster, or it cannot be read or removed at the moment.
      }
    }
    return undefined;
  }

  /** Whether another process has removed the file that this one is storing. */
  const isOver = ({ path: file, storedAt }: Reading) =>
    storedAt === undefined && !spoolsBeside(path).some((spool) => spool.path === file);

  return {
    /** Whether there is something to do for `step`. */
    finds(): boolean {
      const reading = current;
      // At the moment, the directory may be unreadable.
      if (reading && harmless(() => isOver(reading))) current = undefined;
      current ??= harmless(next);
      return current !== undefined;
    },
    /** Whether `finds` will remove files: in `SETTLE_MS` those whose events all had space. */
    get isSettling(): boolean {
      return stored.size > 0;
    },
    /** Stores the next lines, or reports what is lost. If the storage fails, the file is read anew. */
    async step(store: Pick<Store, "run">): Promise<TransactionOutcome> {
      const reading = current as Reading;
      const { lines, full, path: from } = reading;
      if (reading.storedAt !== undefined) {
        // In one transaction: this process may be about to end, and the file is gone.
        const outcome = await store.run(full.map((some) => ({ name: "knownOf", args: [some] })));
        current = undefined;
        // Another process that read the file may have had space. The rest is lost: its process is gone.
        const known = outcome.results as readonly ReadonlySet<OutboxEvent>[];
        const lost = full.flatMap((some, nth) => some.filter((event) => !known[nth]?.has(event)));
        const dropped = lost.map((event) => ({ event, reason: "full" as const }));
        const problems = reading.damaged > 0 ? [unreadable(reading.damaged, from)] : [];
        return { ...outcome, dropped: [...outcome.dropped, ...dropped], problems };
      }
      current = undefined;
      const texts = lines.splice(0, LINES_AT_ONCE);
      // Not earlier: all events of a long file would take much memory.
      const some = texts.flatMap((line) => eventFromLine(line) ?? []);
      reading.damaged += texts.length - some.length;
      const outcome = await store.run(some.map((event) => ({ name: "append", args: [event] })));
      const rest = some.filter((_, nth) => outcome.results[nth] === "full");
      if (rest.length > 0) full.push(rest);
      if (lines.length > 0) current = reading;
      else stored.set(from, Object.assign(reading, { storedAt: clock.monotonic() }));
      return outcome;
    },
  };
}

function unreadable(lines: number, path: string) {
  return {
    code: "ERR_AFFILIATE_DISK_DAMAGED",
    message: `diskOutbox: ${lines} lines of ${path} could not be read, and are not sent; the process that wrote them has ended`,
  } as const;
}
