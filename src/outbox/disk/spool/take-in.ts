import type { OutboxEvent } from "../../../conversion/events.js";
import type { Clock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import type { Store, TransactionOutcome } from "../store/store.js";
import { eventFromLine, type FoundSpool, readSpool, removeSpool, spoolsBeside } from "./spool-files.js";

// So few that others can write in between.
const LINES_AT_ONCE = 200;
/** Chosen: a writer that lives looks every 100 ms whether its file was deleted. */
export const SETTLE_MS = 250;

export type TakeIn = ReturnType<typeof createTakeIn>;

interface Reading extends FoundSpool {
  /** Those that are not stored yet. */
  readonly lines: string[];
  /** For which there was no space. */
  readonly full: OutboxEvent[];
  damaged: number;
  /** When the last line was stored; `undefined`: not yet. */
  storedAt?: number;
}

/**
 * Stores what ended processes left in their spool files, a few lines at a time. A known id is a
 * duplicate: a line may be read twice, or by two processes. A file that has not changed for `SETTLE_MS`
 * since it was read is removed. The process that removes it reports what is lost.
 *
 * An event that was dropped meanwhile is stored, or dropped, a second time. To note each drop in its
 * transaction would prevent that. But a process may end before it emits `dropped`: then nobody would
 * report the loss.
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
  isGone: (owner: string) => boolean,
  clock: Pick<Clock, "monotonic">,
) {
  /** The files that were read to their end. */
  const stored = new Map<string, Reading>();
  let current: Reading | undefined;

  function next(): Reading | undefined {
    const spools = spoolsBeside(path);
    for (const file of stored.keys()) if (!spools.some((spool) => spool.path === file)) stored.delete(file);
    for (const spool of spools) {
      if (!isGone(spool.owner)) continue;
      const before = stored.get(spool.path);
      // A file that is being written changes all the time.
      if (before?.storedAt !== undefined && clock.monotonic() - before.storedAt < SETTLE_MS) continue;
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

  return {
    /** Whether there is something to do for `step`. */
    finds(): boolean {
      // At the moment, the directory may be unreadable.
      current ??= harmless(next);
      return current !== undefined;
    },
    /** Whether files are to be removed in `SETTLE_MS` at the latest, by `finds`. */
    get isSettling(): boolean {
      return stored.size > 0;
    },
    /** Stores the next lines, or reports what is lost. If the storage fails, the file is read anew. */
    async step(store: Pick<Store, "run">): Promise<TransactionOutcome> {
      const reading = current as Reading;
      const { lines, full, path: from } = reading;
      if (reading.storedAt !== undefined) {
        const outcome = await store.run([]);
        current = undefined;
        // Events without space are lost: their process is gone.
        const dropped = full.map((event) => ({ event, reason: "full" as const }));
        const problems = reading.damaged > 0 ? [unreadable(reading.damaged, from)] : [];
        return { ...outcome, dropped: [...outcome.dropped, ...dropped], problems };
      }
      current = undefined;
      const texts = lines.splice(0, LINES_AT_ONCE);
      // Not earlier: all events of a long file would take much memory.
      const some = texts.flatMap((line) => eventFromLine(line) ?? []);
      reading.damaged += texts.length - some.length;
      const outcome = await store.run(some.map((event) => ({ name: "append", args: [event] })));
      full.push(...some.filter((_, nth) => outcome.results[nth] === "full"));
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
