import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import type { EventKind, OutboxEvent } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../../conversion/kinds.js";
import { objectFromJson } from "../../../shared/json.js";
import { makeDirectory, ownFile } from "../file/access.js";

const WRITABLE = 0o200;
const SEALED = 0o400;
const CHUNK_BYTES = 64 * 1024;

export type SpoolFile = ReturnType<typeof createSpoolFile>;

/** A spool file of another process. */
export interface SpoolOfAnother {
  readonly path: string;
  readonly owner: string;
  readonly bytes: number;
}

export const spoolPath = (path: string, owner: string, nth: number): string =>
  `${path}-spool-${owner}.${nth}`;

/** Makes the file for this user alone. Its methods, too, throw what the file system throws. */
export function createSpoolFile(path: string) {
  makeDirectory(dirname(path));
  const fd = openSync(path, "ax", 0o600);

  return {
    /** Returns the number of bytes. */
    append(text: string): number {
      const bytes = Buffer.from(text);
      // A disk that becomes full takes a part of the text.
      if (writeSync(fd, bytes) === bytes.length) return bytes.length;
      throw Object.assign(new Error("no space is left"), { code: "ENOSPC" });
    },
    /** `sealed`: another process takes the file in, and nothing may be appended from here on. */
    get state(): "mine" | "sealed" | "deleted" {
      const { mode, nlink } = fstatSync(fd);
      if ((mode & WRITABLE) === 0) return "sealed";
      return nlink === 0 ? "deleted" : "mine";
    },
    empty: () => ftruncateSync(fd),
    flush: () => fsyncSync(fd),
    close: () => closeSync(fd),
    remove(): void {
      closeSync(fd);
      rmSync(path, { force: true });
    },
  };
}

export function spoolsBeside(path: string): SpoolOfAnother[] {
  const found: SpoolOfAnother[] = [];
  const prefix = `${basename(path)}-spool-`;
  for (const name of readdirSync(dirname(path))) {
    const [, owner] = (name.startsWith(prefix) && /^(.+)\.\d+$/.exec(name.slice(prefix.length))) || [];
    const file = join(dirname(path), name);
    const stats = owner !== undefined && ownFile(file);
    if (owner !== undefined && stats) found.push({ path: file, owner, bytes: stats.size });
  }
  return found;
}

/** Seals a spool file, to read it. If its writer lives, it sees that and begins another file. */
export function sealSpool({ path }: SpoolOfAnother) {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  const chunk = Buffer.alloc(CHUNK_BYTES);
  try {
    fchmodSync(fd, SEALED);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return {
    /** The bytes from there on, none at the end. The buffer is used again. */
    read: (at: number): Uint8Array => chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, at)),
    close: () => closeSync(fd),
    remove: () => rmSync(path, { force: true }),
  };
}

// Far longer than any event: each of its fields has a length.
const LONGEST_LINE = 1024 * 1024;
const NEWLINE = 0x0a;

/** An event as one line: a checksum and JSON. */
export function lineOf(event: OutboxEvent): string {
  const json = JSON.stringify(event);
  return `${crc32(json).toString(16)} ${json}\n`;
}

/** Anything may be in a file. `undefined` if the line was not written whole, or holds no event. */
export function eventFromLine(line: string): OutboxEvent | undefined {
  const [, checksum, json = ""] = /^([0-9a-f]{1,8}) (.*)$/s.exec(line) ?? [];
  if (checksum === undefined || crc32(json) !== Number.parseInt(checksum, 16)) return undefined;
  const event = objectFromJson(json) as OutboxEvent | undefined;
  return event && isSound(event) ? event : undefined;
}

const isEventId = (id: unknown): boolean => typeof id === "string" && /^[0-9a-f]{32}$/.test(id);

function isSound({ id, destination, kind, createdAt, data }: Partial<OutboxEvent>): boolean {
  if (!isEventId(id) || !LEAST_URGENT_FIRST.includes(kind as EventKind)) return false;
  if (!Number.isSafeInteger(destination) || !Number.isSafeInteger(createdAt)) return false;
  if (typeof data !== "object" || data === null || Array.isArray(data)) return false;
  return [data.clickId, data.sessionId].every((each) => each === undefined || typeof each === "string");
}

/**
 * The lines of what `read` returns until it returns no bytes. The last may have no end. A line that
 * is too long is cut, so that memory is bounded.
 */
export function* linesOf(read: () => Uint8Array): Generator<string> {
  let begun: Buffer[] = [];
  let length = 0;
  const end = (last: Uint8Array): string => {
    const line = Buffer.concat([...begun, last]).toString();
    begun = [];
    length = 0;
    return line;
  };
  for (let chunk = read(); chunk.length > 0; chunk = read()) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield end(chunk.subarray(from, at));
      from = at + 1;
    }
    const rest = chunk.subarray(from);
    length += rest.length;
    // A copy: the next bytes may come in the same buffer.
    if (rest.length > 0 && length <= LONGEST_LINE) begun.push(Buffer.from(rest));
  }
  if (length > 0) yield end(new Uint8Array());
}
