import type { OutboxEvent } from "../../../conversion/events.js";
import type { Clock } from "../../../shared/clock.js";
import { OutboxError } from "../../../shared/errors.js";
import { MIB } from "../../option-types.js";
import type { Spool } from "../../spool.js";
import { problemOf } from "../file/sqlite.js";
import { createSpoolFile, lineOf, type SpoolFile, spoolPath } from "./spool-files.js";

// Measured: emptying the file costs as much as writing three lines.
const EMPTY_AFTER_MS = 100;
// Some thousand lines. Under load there may be no moment at which nothing waits.
const LONG_BYTES = MIB;
// Some hundred lines, which are written anew within a few milliseconds.
const FEW_BYTES = MIB / 8;
const RETRY_MS = 5_000;
// Looking costs as much as writing a line. Who seals a file reads it again after more than this.
const LOOK_AFTER_MS = 100;

/**
 * The host's own file of the events on their way to the outbox's thread, one line each. A line is
 * in the page cache when `add` returns, so it survives `kill -9`. When a process has ended, another
 * process or the next one stores its lines: see take-in.ts.
 *
 * The file is emptied when nothing waits. It is replaced when it is long and little of it waits,
 * when another process has sealed it, and when it was deleted. If it cannot be written, `onTrouble`
 * gets the error, and events wait in memory alone. Once it can be, `onTrouble` gets `undefined`.
 */
export function createSpool(
  path: string,
  parts: {
    readonly maxBytes: number;
    readonly clock: Clock;
    readonly onTrouble: (error: Error | undefined) => void;
  },
) {
  const { maxBytes, clock, onTrouble } = parts;
  /** The events that wait, and how many bytes each has in the file. */
  const waiting = new Map<OutboxEvent, number>();
  let waitingBytes = 0;
  let owner: string | undefined;
  let files = 0;
  let file: SpoolFile | undefined;
  let bytes = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isWhole = false;
  let cancelRetry: (() => void) | undefined;
  let cancelEmptying: (() => void) | undefined;

  function write(event: OutboxEvent): void {
    const line = lineOf(event);
    if (clock.monotonic() - lookedAt >= LOOK_AFTER_MS) look();
    if (bytes > LONG_BYTES && waitingBytes < FEW_BYTES) replace(waiting.keys());
    if (waiting.get(event) !== 0) return;
    if (!file || bytes + line.length > maxBytes) throw tooLong(path, maxBytes);
    note(event, file.append(line));
  }

  /** Begins another file if this one must not be written. */
  function look(): void {
    lookedAt = clock.monotonic();
    const state = file?.state;
    if (state === "deleted") replace(waiting.keys());
    if (state !== "sealed") return;
    // That process stores its lines, and removes it.
    file?.close();
    file = undefined;
    replace([]);
  }

  function note(event: OutboxEvent, size: number): void {
    bytes += size;
    waitingBytes += size - (waiting.get(event) ?? 0);
    waiting.set(event, size);
  }

  /** Begins another file with these events. */
  function replace(events: Iterable<OutboxEvent>): void {
    if (owner === undefined) return;
    const next = createSpoolFile(spoolPath(path, owner, ++files));
    const before = { file, bytes };
    bytes = 0;
    try {
      // Shows whether the disk is full, even if nothing waits.
      next.append("\n");
      for (const event of events) note(event, next.append(lineOf(event)));
    } catch (error) {
      next.remove();
      ({ bytes } = before);
      throw error;
    }
    file = next;
    before.file?.remove();
  }

  function attempt(task: () => void): void {
    try {
      task();
      if (isWhole) return;
      isWhole = true;
      onTrouble(undefined);
    } catch (error) {
      isWhole = false;
      onTrouble(problemOf(error, `${path}-spool`));
      cancelRetry ??= clock.after(RETRY_MS, retry);
    }
  }

  function retry(): void {
    cancelRetry = undefined;
    // To write much would block the host.
    if (waitingBytes < FEW_BYTES) attempt(() => replace(waiting.keys()));
    else cancelRetry = clock.after(RETRY_MS, retry);
  }

  function empty(): void {
    cancelEmptying = undefined;
    if (waiting.size > 0 || !isWhole) return;
    attempt(() => file?.empty());
    bytes = 0;
  }

  return {
    /** The thread begins under this name. Its lock shows that this process lives. */
    begin(name: string): void {
      owner = name;
      attempt(() => {
        if (!file || !isWhole) return replace(waiting.keys());
        look();
        file.rename(spoolPath(path, name, ++files));
      });
    },
    /** The directory may be another one than before. */
    renew: () => attempt(() => replace(waiting.keys())),
    add(event) {
      waiting.set(event, 0);
      if (isWhole) attempt(() => write(event));
    },
    remove(event) {
      waitingBytes -= waiting.get(event) ?? 0;
      waiting.delete(event);
      if (waiting.size === 0) cancelEmptying ??= clock.after(EMPTY_AFTER_MS, empty);
    },
    get isWhole() {
      return isWhole;
    },
    /** Removes the file, or leaves it to the next process if events wait in it. */
    close(): void {
      cancelRetry?.();
      cancelEmptying?.();
      try {
        if (waiting.size > 0) file?.flush();
        if (waiting.size > 0) file?.close();
        else file?.remove();
      } catch {
        isWhole = false;
      }
      file = undefined;
    },
  } satisfies Spool & Record<string, unknown>;
}

function tooLong(path: string, maxBytes: number): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_DISK_FULL",
    `diskOutbox: ${path} takes no events, and ${path}-spool holds ${maxBytes} bytes of them (maxMemoryBytes)`,
  );
}
