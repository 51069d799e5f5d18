import type { OutboxEvent } from "../../../conversion/events.js";
import type { Clock } from "../../../shared/clock.js";
import type { Store, TransactionOutcome } from "../store/store.js";
import { eventFromLine, linesOf, type SpoolOfAnother, sealSpool, spoolsBeside } from "./spool-files.js";

// So few that others can write in between.
const LINES_AT_ONCE = 200;
/** Chosen: a writer that lives looks every 100 ms whether its file is sealed. */
export const SETTLE_MS = 250;

export type TakeIn = ReturnType<typeof createTakeIn>;

/**
 * Stores what ended processes left in their spool files, a few lines at a time:
 *
 * 1. Seals the file. If only its process's thread has ended, and its lock with it, the process
 *    continues in another file. What it has just reported may be stored here first, and is then a
 *    duplicate to it.
 * 2. Stores all lines. A known id is a duplicate: a line may be read twice, or by two processes.
 * 3. `SETTLE_MS` later, stores what was appended before the writer saw the seal.
 * 4. Removes the file.
 *
 * The lines come after all that their process had stored, in their order. An event of the same
 * visitor that another process has stored meanwhile comes before them.
 */
export function createTakeIn(
  path: string,
  isGone: (owner: string) => boolean,
  clock: Pick<Clock, "monotonic">,
) {
  let current: Reading | undefined;
  /** Files whose lines are stored. */
  let settling: Reading[] = [];
  let ending: string | undefined;

  function next(isThorough: boolean): Reading | undefined {
    for (const reading of settling) {
      if (clock.monotonic() < reading.settledAt) continue;
      settling = settling.filter((each) => each !== reading);
      if (reading.hasMore()) return reading;
      reading.close();
      reading.remove();
    }
    for (const spool of spoolsBeside(path)) {
      if (settling.some((each) => each.path === spool.path)) continue;
      const isWanted = spool.bytes > 0 || isThorough;
      if (!isWanted || !(spool.owner === ending || isGone(spool.owner))) continue;
      try {
        const settleMs = spool.owner === ending ? 0 : SETTLE_MS;
        return startReading(spool, clock.monotonic() + settleMs);
      } catch {
        // Another process was faster, or it cannot be changed at the moment.
      }
    }
    return undefined;
  }

  return {
    /** Whether there are lines to store. `isThorough`: also finds empty files, to remove them. */
    finds(isThorough = false): boolean {
      try {
        current ??= next(isThorough);
      } catch {
        // The directory cannot be read at the moment.
      }
      return current !== undefined;
    },
    /** Whether `finds` will remove files in `SETTLE_MS` at the latest. */
    get isSettling(): boolean {
      return settling.length > 0;
    },
    /** This process ends: its own lines are stored, too. */
    endWith(owner: string): void {
      ending = owner;
    },
    /** Stores the next lines. If SQLite or the file system throws, the file is read anew. */
    async step(store: Pick<Store, "run">): Promise<TransactionOutcome> {
      const reading = current as Reading;
      try {
        const { events, isEnd } = reading.next();
        const outcome = withFull(await store.run(events.map((event) => ({ type: "append", event }))), events);
        if (!isEnd) return outcome;
        settling.push(reading);
        current = undefined;
        return { ...outcome, problems: reading.problems() };
      } catch (error) {
        reading.close();
        current = undefined;
        throw error;
      }
    },
  };
}

type Reading = ReturnType<typeof startReading>;

function startReading(spool: SpoolOfAnother, settledAt: number) {
  const { read, close, remove } = sealSpool(spool);
  let at = 0;
  let damaged = 0;
  let lines = linesOf(readOn);

  function readOn(): Uint8Array {
    const bytes = read(at);
    at += bytes.length;
    return bytes;
  }

  return {
    path: spool.path,
    settledAt,
    next(): { events: readonly OutboxEvent[]; isEnd: boolean } {
      const events: OutboxEvent[] = [];
      for (let count = 0; count < LINES_AT_ONCE; count++) {
        const { value: line, done } = lines.next();
        if (done) return { events, isEnd: true };
        const event = eventFromLine(line);
        if (event) events.push(event);
        else if (line !== "") damaged++;
      }
      return { events, isEnd: false };
    },
    /** Whether more was appended. If so, reads all again: a line may have been there in part. */
    hasMore(): boolean {
      if (read(at).length === 0) return false;
      at = 0;
      damaged = 0;
      lines = linesOf(readOn);
      return true;
    },
    problems: () =>
      damaged === 0
        ? []
        : [
            {
              code: "ERR_AFFILIATE_DISK_DAMAGED",
              message: `diskOutbox: ${damaged} lines of ${spool.path} could not be read, and are not sent; the process that wrote them has ended`,
            },
          ],
    close,
    remove,
  };
}

/** Events without space are lost: their process is gone. */
function withFull(outcome: TransactionOutcome, events: readonly OutboxEvent[]): TransactionOutcome {
  const full = events.filter((_, nth) => outcome.results[nth] === "full");
  return {
    ...outcome,
    dropped: [...outcome.dropped, ...full.map((event) => ({ event, reason: "full" as const }))],
  };
}
