import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { EventKind, OutboxEvent } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../../conversion/kinds.js";
import { objectFromJson } from "../../../shared/json.js";
import { isRightData } from "../../queue/rows.js";
import { makeDirectory, ownFile } from "../file/access.js";

export type SpoolFile = ReturnType<typeof createSpoolFile>;

/** A spool file beside the outbox's. */
export interface FoundSpool {
  readonly path: string;
  readonly owner: string;
  /** Changes with each change of the file. */
  readonly version: string;
}

/** Makes the owner's nth file for this user alone. Its methods, too, throw what the file system throws. */
export function createSpoolFile(beside: string, owner: string, nth: number) {
  const path = `${beside}-spool-${owner}.${nth}`;
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
    get isDeleted(): boolean {
      return fstatSync(fd).nlink === 0;
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

export function spoolsBeside(path: string): FoundSpool[] {
  const found: FoundSpool[] = [];
  const prefix = `${basename(path)}-spool-`;
  for (const name of readdirSync(dirname(path))) {
    const [, owner] = (name.startsWith(prefix) && /^(.+)\.\d+$/.exec(name.slice(prefix.length))) || [];
    const file = join(dirname(path), name);
    const stats = owner !== undefined && ownFile(file);
    if (owner !== undefined && stats)
      found.push({ path: file, owner, version: `${stats.mtimeMs} ${stats.size}` });
  }
  return found;
}

/** Throws what the file system throws. */
export const readSpool = (path: string): string => readFileSync(path, "utf8");

/** If several processes remove a file, it throws in all but one. */
export const removeSpool = (path: string): void => unlinkSync(path);

export const lineOf = (event: OutboxEvent): string => `${JSON.stringify(event)}\n`;

/** Anything may be in a file. `undefined` if the line was not written whole, or holds no event. */
export function eventFromLine(line: string): OutboxEvent | undefined {
  const event = objectFromJson(line) as OutboxEvent | undefined;
  return event && isSound(event) ? event : undefined;
}

function isSound({ id, destination, kind, createdAt, data }: Partial<OutboxEvent>): boolean {
  if (!/^[0-9a-f]{32}$/.test(String(id)) || !LEAST_URGENT_FIRST.includes(kind as EventKind)) return false;
  if (!Number.isSafeInteger(destination) || !Number.isSafeInteger(createdAt)) return false;
  return typeof data === "object" && data !== null && !Array.isArray(data) && isRightData(data);
}
