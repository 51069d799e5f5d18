import type { Clock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import type { Store, TransactionOutcome } from "../store/store.js";
import {
  eventFromLine,
  type FoundSpool,
  lineOf,
  readSpool,
  removeSpool,
  spoolsBeside,
} from "./spool-files.js";

// So few that others can write in between.
const LINES_AT_ONCE = 200;
/** Chosen: a writer that lives looks every 100 ms whether its file was deleted. */
export const SETTLE_MS = 250;

export type TakeIn = ReturnType<typeof createTakeIn>;

interface Reading extends FoundSpool {
  /** Those that are not stored yet. */
  readonly lines: string[];
  /** Those for which there was no space. */
  readonly full: string[];
  damaged: number;
  /** By this process. No other one has these lines now. */
  readonly isRemoved: boolean;
}

/**
 * Stores what ended processes left in their spool files, a few lines at a time. A known id is a
 * duplicate: a line may be read twice, or by two processes. A file that has not changed for
 * `SETTLE_MS` since it was read is removed. The process that removes it tries once more to store
 * what had no space, and it alone reports what is lost.
 *
 * If only a process's thread has ended, and its lock with it, what that process has just reported
 * may be stored here first, and is then a duplicate to it. It sees that its file was deleted, and
 * begins another one.
 *
 * The lines come after all that their process had stored, in their order, but what had no space at
 * first comes last. An event of the same visitor that another process has stored meanwhile comes
 * before them.
 */
export function createTakeIn(
  path: string,
  isGone: (owner: string) => boolean,
  clock: Pick<Clock, "monotonic">,
) {
  /** What was read of each file, and since when it is stored. */
  const stored = new Map<string, Reading & { readonly at: number }>();
  let current: Reading | undefined;

  function next(): Reading | undefined {
    const spools = spoolsBeside(path);
    for (const file of stored.keys()) if (!spools.some((spool) => spool.path === file)) stored.delete(file);
    for (const spool of spools) {
      if (!isGone(spool.owner)) continue;
      const before = stored.get(spool.path);
      // A file that is being written changes all the time.
      if (before && clock.monotonic() - before.at < SETTLE_MS) continue;
      try {
        if (before?.version !== spool.version) {
          const lines = readSpool(spool.path)
            .split("\n")
            .filter((line) => line !== "");
          return { ...spool, lines, full: [], damaged: 0, isRemoved: false };
        }
        removeSpool(spool.path);
        if (before.full.length + before.damaged > 0)
          return { ...before, lines: before.full, full: [], isRemoved: true };
      } catch {
        // Another process was faster, or it cannot be read or removed at the moment.
      }
    }
    return undefined;
  }

  return {
    /** Whether there are lines to store. */
    finds(): boolean {
      // At the moment, the directory may be unreadable.
      current ??= harmless(next);
      return current !== undefined;
    },
    /** Whether files are to be removed in `SETTLE_MS` at the latest, by `finds`. */
    get isSettling(): boolean {
      return stored.size > 0;
    },
    /** Stores the next lines. If the storage fails, the file is read anew, unless it is removed. */
    async step(store: Pick<Store, "run">): Promise<TransactionOutcome> {
      const reading = current as Reading;
      const { lines, isRemoved, path: from } = reading;
      current = isRemoved ? reading : undefined;
      const texts = lines.slice(0, LINES_AT_ONCE);
      // Not earlier: all events of a long file would take much memory.
      const some = texts.flatMap((line) => eventFromLine(line) ?? []);
      const outcome = await store.run(some.map((event) => ({ name: "append", args: [event] })));
      lines.splice(0, LINES_AT_ONCE);
      reading.damaged += texts.length - some.length;
      const full = some.filter((_, nth) => outcome.results[nth] === "full");
      const isDone = lines.length === 0;
      current = isDone ? undefined : reading;
      if (!isRemoved) {
        reading.full.push(...full.map(lineOf));
        if (isDone) stored.set(from, { ...reading, at: clock.monotonic() });
        return outcome;
      }
      // Events without space are lost: their process is gone.
      const dropped = [...outcome.dropped, ...full.map((event) => ({ event, reason: "full" as const }))];
      const isNews = isDone && reading.damaged > 0;
      return { ...outcome, dropped, problems: isNews ? [unreadable(reading.damaged, from)] : [] };
    },
  };
}

function unreadable(lines: number, path: string) {
  return {
    code: "ERR_AFFILIATE_DISK_DAMAGED",
    message: `diskOutbox: ${lines} lines of ${path} could not be read, and are not sent; the process that wrote them has ended`,
  } as const;
}
