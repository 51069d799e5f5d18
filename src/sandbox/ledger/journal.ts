import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { lock } from "./lock.js";

/** How the first line begins: no other file is taken for a ledger. */
const MARK = '{"kind":"ledger"';

/** A file with a line of JSON for each thing that was recorded. What is written outlives `kill -9`. */
export type Journal = Awaited<ReturnType<typeof openJournal>>;

/**
 * Opens a ledger's file, or creates it, for this user and this process alone: it has customers'
 * addresses. Rejects if it is something else, is in use, or cannot be opened. All errors name it.
 */
export async function openJournal(file: string) {
  function named<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      throw new Error(`sandbox: ${file} ${(error as Error).message}; choose another file`, { cause: error });
    }
  }
  const path = named(() => {
    refuseForeignFile(file);
    return realpathSync(file);
  });
  const unlock = await lock(path);
  if (!unlock) throw new Error(`sandbox: ${file} is in use by another sandbox: stop that one`);
  return {
    read: () => named(() => linesIn(path)),
    /** All of these lines are written, or none. */
    append: (lines: readonly unknown[]) => named(() => appendFileSync(path, `\n${JSON.stringify(lines)}`)),
    /** Replaces all lines. The first must be of the kind `ledger`. */
    rewrite: (lines: readonly unknown[]) =>
      named(() => {
        const next = `${path}.new`;
        rmSync(next, { force: true });
        writeFileSync(next, lines.map((line) => JSON.stringify(line)).join("\n"), { mode: 0o600 });
        renameSync(next, path);
      }),
    close: unlock,
  };
}

function refuseForeignFile(file: string): void {
  const opened = openSync(file, "a+", 0o600);
  const start = Buffer.alloc(MARK.length);
  const length = readSync(opened, start, 0, start.length, 0);
  closeSync(opened);
  if (length > 0 && start.toString() !== MARK) throw new Error("is not a sandbox's ledger");
}

/** Without a line that `kill -9` or a full disk has cut: it was not answered, or with an error. */
function linesIn(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return JSON.parse(line);
      } catch {
        return [];
      }
    });
}
