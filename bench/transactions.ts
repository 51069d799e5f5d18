import { execFileSync } from "node:child_process";
import { endianness } from "node:os";
import { join } from "node:path";

const AT = 8;

/**
 * How many transactions have written to the disk outbox's file, each with one flush: SQLite counts
 * them in the index of its log (sqlite.org/walformat.html, `iChange`). Another process reads the
 * index: this one would drop its own locks on it by closing it.
 */
export function transactionsIn(directory: string): number {
  const head = execFileSync("head", ["-c", `${AT + 4}`, join(directory, "outbox.db-shm")]);
  return endianness() === "BE" ? head.readUInt32BE(AT) : head.readUInt32LE(AT);
}
