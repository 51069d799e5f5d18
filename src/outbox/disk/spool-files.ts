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
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeDirectory, ownFile } from "./access.js";

const WRITABLE = 0o200;
const SEALED = 0o400;
const CHUNK_BYTES = 64 * 1024;

/** A spool file that this process writes. */
export type SpoolFile = ReturnType<typeof createSpoolFile>;

/** A spool file of another process. */
export interface SpoolOfAnother {
  readonly path: string;
  readonly owner: string;
  readonly bytes: number;
}

/** The path of an owner's n-th spool file. */
export const spoolPath = (path: string, owner: string, nth: number): string =>
  `${path}-spool-${owner}.${nth}`;

/** Makes the file, for this user alone. Throws what the file system throws, as each of its methods does. */
export function createSpoolFile(path: string) {
  makeDirectory(dirname(path));
  const fd = openSync(path, "ax", 0o600);
  let at = path;

  return {
    /** Returns the number of bytes. */
    append(text: string): number {
      const bytes = Buffer.from(text);
      // A disk that becomes full takes a part of it.
      if (writeSync(fd, bytes) === bytes.length) return bytes.length;
      throw Object.assign(new Error("no space is left"), { code: "ENOSPC" });
    },
    /** `sealed`: another process takes it in, and nothing may be appended from here on. */
    get state(): "mine" | "sealed" | "deleted" {
      const { mode, nlink } = fstatSync(fd);
      if ((mode & WRITABLE) === 0) return "sealed";
      return nlink === 0 ? "deleted" : "mine";
    },
    empty: () => ftruncateSync(fd),
    rename(to: string): void {
      renameSync(at, to);
      at = to;
    },
    flush: () => fsyncSync(fd),
    close: () => closeSync(fd),
    remove(): void {
      closeSync(fd);
      rmSync(at, { force: true });
    },
  };
}

/** The spool files beside an outbox's file. */
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

/** Opens a spool file to read it. Its writer may live after all: it sees that the file is sealed, and goes on in another one. */
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
    /** The bytes from there on, in a buffer that is used again; none at the end. */
    read: (at: number): Uint8Array => chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, at)),
    close: () => closeSync(fd),
    remove: () => rmSync(path, { force: true }),
  };
}
