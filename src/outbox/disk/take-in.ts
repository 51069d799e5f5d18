import type { OutboxEvent } from "../../events.js";
import type { Clock } from "../../shared/clock.js";
import type { Problem } from "./protocol.js";
import { type SpoolOfAnother, sealSpool, spoolsBeside } from "./spool-files.js";
import { eventFromLine, linesOf } from "./spool-lines.js";
import type { Store, TransactionOutcome } from "./store.js";

// So few that other processes can write in between.
const LINES_AT_ONCE = 200;
/** A writer that lives looks every 100 ms whether its file is sealed. */
export const SETTLE_MS = 250;

export type TakeIn = ReturnType<typeof createTakeIn>;

/**
 * Stores what processes that have ended left in their spool files, a few lines at a time:
 *
 * 1. Seals the file. A process that seems to have ended may live: its thread has ended, and its lock with it. It goes on in another file.
 * 2. Stores all lines. An id that is known is a duplicate: so a line may be read twice, by the same process or by two.
 * 3. A while after, stores what was appended before the writer saw the seal.
 * 4. Removes the file.
 *
 * The lines come after all that their process had stored, in their order. An event of the same visitor that another process has
 * stored meanwhile comes before them.
 *
 * @param isGone whether a process seems to have ended.
 */
export function createTakeIn(
  path: string,
  isGone: (owner: string) => boolean,
  clock: Pick<Clock, "monotonic">,
) {
  let current: Reading | undefined;
  /** Files whose lines are stored. */
  let settling: Reading[] = [];
  /** Files that cannot be read. */
  const unreadable = new Set<string>();
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
      if (settling.some((each) => each.path === spool.path) || unreadable.has(spool.path)) continue;
      const isMeant = spool.bytes > 0 || isThorough;
      if (!isMeant || !(spool.owner === ending || isGone(spool.owner))) continue;
      try {
        const settleMs = spool.owner === ending ? 0 : SETTLE_MS;
        return startReading(spool, clock.monotonic() + settleMs);
      } catch {
        // Another process may have been faster.
        unreadable.add(spool.path);
      }
    }
    return undefined;
  }

  return {
    /** Whether there are lines to store. `isThorough`: also looks at empty files, to remove them. */
    finds(isThorough = false): boolean {
      try {
        current ??= next(isThorough);
      } catch {
        // The directory cannot be read at the moment.
      }
      return current !== undefined;
    },
    /** Whether files are to be removed in `SETTLE_MS` at the latest, by `finds`. */
    get isSettling(): boolean {
      return settling.length > 0;
    },
    /** This process ends: what it has left is to be stored, too. */
    endWith(owner: string): void {
      ending = owner;
    },
    /** Stores the next lines. Throws what SQLite and the file system throw; then the file is read again from its beginning. */
    step(store: Store): TransactionOutcome {
      const reading = current as Reading;
      try {
        const { events, isEnd } = reading.next();
        const outcome = withFull(store.run(events.map((event) => ({ type: "append", event }))), events);
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
    /** Whether more was appended meanwhile. Then all is read again: a line may have been read when a part of it was there. */
    hasMore(): boolean {
      if (read(at).length === 0) return false;
      at = 0;
      damaged = 0;
      lines = linesOf(readOn);
      return true;
    },
    problems: (): readonly Problem[] =>
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

/** Events for which there is no space are lost: their process is gone. */
function withFull(outcome: TransactionOutcome, events: readonly OutboxEvent[]): TransactionOutcome {
  const full = events.filter((_, nth) => outcome.results[nth] === "full");
  return {
    ...outcome,
    dropped: [...outcome.dropped, ...full.map((event) => ({ event, reason: "full" as const }))],
  };
}
