import type { OutboxEvent } from "../../../conversion/events.js";
import type { Clock } from "../../../shared/clock.js";
import { OutboxError } from "../../../shared/errors.js";
import type { Spool } from "../../fallback.js";
import { MIB } from "../../option-types.js";
import { problemOf } from "../file/sqlite.js";
import { createSpoolFile, lineOf, type SpoolFile } from "./spool-files.js";

// Measured: emptying the file costs as much as writing three lines.
const EMPTY_AFTER_MS = 100;
// Some thousand lines. Under load there may be no moment at which nothing waits.
const LONG_BYTES = MIB;
// Their lines are written anew within a few milliseconds.
const FEW = 300;
const RETRY_MS = 5_000;
// A file is read as one text, and Node's longest has 512 MiB.
const MOST_BYTES = 256 * MIB;
// Looking costs as much as writing a line. Who removes a file has seen no change of it for longer.
const LOOK_AFTER_MS = 100;

/**
 * The host's own file of the events on their way to the outbox's thread, one line each. A line is
 * in the page cache when `add` returns, so it survives `kill -9`. When a process has ended, another
 * process or the next one stores its lines: see take-in.ts.
 *
 * The file is emptied when nothing waits. It is replaced when it is long and little of it waits, and
 * when it was deleted. If it cannot be written, `onTrouble` gets the error, and events wait in memory
 * alone. Once it can be, `onTrouble` gets `undefined`.
 */
export function createSpool(
  path: string,
  parts: {
    readonly owner: string;
    readonly maxBytes: number;
    readonly clock: Clock;
    readonly onTrouble: (error: Error | undefined) => void;
  },
) {
  const { owner, clock, onTrouble } = parts;
  const maxBytes = Math.min(parts.maxBytes, MOST_BYTES);
  const waiting = new Set<OutboxEvent>();
  let files = 0;
  let file: SpoolFile | undefined;
  let bytes = 0;
  /** How many the file began with. */
  let bytesAtFirst = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isWhole = false;
  let cancelRetry: (() => void) | undefined;
  let cancelEmptying: (() => void) | undefined;

  function write(event: OutboxEvent): void {
    const isLong = bytes > bytesAtFirst + LONG_BYTES && waiting.size <= FEW;
    const line = lineOf(event);
    if (isLong || (clock.monotonic() - lookedAt >= LOOK_AFTER_MS && isDeleted())) replace();
    else if (file && bytes + line.length <= maxBytes) bytes += file.append(line);
    else throw tooLong(path, maxBytes);
  }

  function isDeleted(): boolean {
    lookedAt = clock.monotonic();
    return file?.isDeleted === true;
  }

  /** Begins another file with what waits. */
  function replace(): void {
    const next = createSpoolFile(path, owner, ++files);
    // An empty line shows whether the disk is full, even if nothing waits.
    let written = 0;
    try {
      written += next.append("\n");
      for (const event of waiting) written += next.append(lineOf(event));
    } catch (error) {
      next.remove();
      throw error;
    }
    const before = file;
    file = next;
    bytes = written;
    bytesAtFirst = written;
    before?.remove();
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
      cancelRetry ??= clock.after(RETRY_MS, rewrite);
    }
  }

  function rewrite(): void {
    cancelRetry?.();
    cancelRetry = undefined;
    // To write many would block the host.
    if (waiting.size <= FEW) attempt(replace);
    else cancelRetry = clock.after(RETRY_MS, rewrite);
  }

  function empty(): void {
    cancelEmptying = undefined;
    if (waiting.size > 0 || !isWhole) return;
    attempt(() => {
      if (isDeleted()) replace();
      else file?.empty();
      bytes = 0;
      bytesAtFirst = 0;
    });
  }

  return {
    /** Begins a file. At first: once the thread has the lock that shows that this process lives. */
    begin: rewrite,
    add(event) {
      waiting.add(event);
      if (isWhole) attempt(() => write(event));
    },
    remove(event) {
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
    `diskOutbox: ${path} takes no events, and ${path}-spool holds ${maxBytes} bytes of them (maxMemoryBytes, at most 256 MiB)`,
  );
}
