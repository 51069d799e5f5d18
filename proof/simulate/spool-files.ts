import type { FoundSpool, SpoolFile } from "../../src/outbox/disk/spool/spool-files.js";
import type { VirtualSpool } from "./disk.js";
import { hostOf } from "./host.js";
import { theClock } from "./machine.js";

export { eventFromLine, lineOf } from "../../src/outbox/disk/spool/spool-files.js";

// Replaces src/outbox/disk/spool/spool-files.ts by files in memory that outlive a process.

const NO_SPACE = Object.assign(new Error("no space is left"), { code: "ENOSPC" });

const here = () => hostOf(theClock().current);

/** A disk that fails may take a part of a line. */
function bytesWritten(bytes: Buffer): Buffer {
  const { diskFault, random } = here();
  if (diskFault !== "full" && diskFault !== "ioerr") return bytes;
  return random() < 0.5 ? bytes : bytes.subarray(0, Math.floor(random() * bytes.length));
}

export function createSpoolFile(beside: string, owner: string, nth: number): SpoolFile {
  const path = `${beside}-spool-${owner}.${nth}`;
  const writer = here();
  const { spools } = writer.disk;
  const file: VirtualSpool = { writer, content: Buffer.alloc(0), version: 0, isDeleted: false };
  spools.set(path, file);

  return {
    append(text) {
      const bytes = Buffer.from(text);
      const written = bytesWritten(bytes);
      file.content = Buffer.concat([file.content, written]);
      file.version++;
      if (written.length < bytes.length) throw NO_SPACE;
      return bytes.length;
    },
    get isDeleted() {
      return file.isDeleted;
    },
    empty() {
      file.content = Buffer.alloc(0);
      file.version++;
    },
    flush() {},
    close() {},
    remove: () => void spools.delete(path),
  };
}

export function spoolsBeside(path: string): FoundSpool[] {
  const prefix = `${path}-spool-`;
  return [...here().disk.spools].map(([path, { version }]) => ({
    path,
    owner: path.slice(prefix.length).replace(/\.\d+$/, ""),
    version: String(version),
  }));
}

export function readSpool(path: string): string {
  const file = here().disk.spools.get(path);
  if (!file) throw new Error("it is gone");
  if (file.writer !== here()) here().disk.spoolsTakenIn.push({ ...file, readAt: theClock().monotonic() });
  return file.content.toString();
}

export function removeSpool(path: string): void {
  const { spools } = here().disk;
  const file = spools.get(path);
  if (!file) throw new Error("it is gone");
  file.isDeleted = true;
  spools.delete(path);
}
