import type { SpoolFile, SpoolOfAnother } from "../../src/outbox/disk/spool/spool-files.js";
import { type Host, hostOf } from "./host.js";
import { theClock } from "./machine.js";

export { eventFromLine, lineOf, linesOf, spoolPath } from "../../src/outbox/disk/spool/spool-files.js";

/** Replaces src/outbox/disk/spool/spool-files.ts by files in memory that outlive a process. */
export interface VirtualSpool {
  readonly writer: Host;
  content: Buffer;
  isSealed: boolean;
  isDeleted: boolean;
}

const NO_SPACE = Object.assign(new Error("no space is left"), { code: "ENOSPC" });

const here = () => hostOf(theClock().current);

/** A disk that fails may take a part of a line. */
function bytesWritten(bytes: Buffer): Buffer {
  const { diskFault, random } = here();
  if (diskFault !== "full" && diskFault !== "ioerr") return bytes;
  return random() < 0.5 ? bytes : bytes.subarray(0, Math.floor(random() * bytes.length));
}

export function createSpoolFile(path: string): SpoolFile {
  const writer = here();
  const { spools } = writer.disk;
  const file: VirtualSpool = { writer, content: Buffer.alloc(0), isSealed: false, isDeleted: false };
  spools.set(path, file);

  return {
    append(text) {
      const bytes = Buffer.from(text);
      const written = bytesWritten(bytes);
      file.content = Buffer.concat([file.content, written]);
      if (written.length < bytes.length) throw NO_SPACE;
      return bytes.length;
    },
    get state() {
      if (file.isSealed) return "sealed";
      return file.isDeleted ? "deleted" : "mine";
    },
    empty() {
      file.content = Buffer.alloc(0);
    },
    flush() {},
    close() {},
    remove: () => void spools.delete(path),
  };
}

export function spoolsBeside(path: string): SpoolOfAnother[] {
  const prefix = `${path}-spool-`;
  return [...here().disk.spools].map(([path, { content }]) => ({
    path,
    owner: path.slice(prefix.length).replace(/\.\d+$/, ""),
    bytes: content.length,
  }));
}

export function sealSpool({ path }: SpoolOfAnother) {
  const { spools } = here().disk;
  const file = spools.get(path);
  if (!file) throw new Error("it is gone");
  file.isSealed = true;
  if (file.writer !== here()) file.writer.spoolsTakenIn.push(file);

  return {
    // Less than most files have, so that a writer may append meanwhile.
    read: (at: number): Uint8Array => file.content.subarray(at, at + 500),
    close() {},
    remove() {
      file.isDeleted = true;
      spools.delete(path);
    },
  };
}
