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

/** How the first line begins: no other file is taken for a ledger. */
const MARK = '{"kind":"ledger"';

/** A file with a line of JSON for each thing that was recorded. What is written outlives `kill -9`. */
export interface Journal {
  /** What was in the file when it was opened. */
  readonly lines: readonly unknown[];
  /** All of these lines are written, or none. */
  append(lines: readonly unknown[]): void;
  /** Replaces all lines. The first must be of the kind `ledger`. */
  rewrite(lines: readonly unknown[]): void;
  /** Leaves the file for the next sandbox. */
  close(): void;
}

/**
 * Opens a ledger's file, or creates it, for this user and this process alone: it has customers'
 * addresses.
 *
 * @throws Error that names the file if it is something else, is in use, or cannot be opened.
 */
export function openJournal(file: string): Journal {
  try {
    refuseForeignFile(file);
    const path = realpathSync(file);
    const unlock = lock(path);
    return {
      lines: linesIn(path),
      append: (lines) => appendFileSync(path, `\n${textOf(lines)}`),
      rewrite(lines) {
        const next = `${path}.new`;
        rmSync(next, { force: true });
        writeFileSync(next, textOf(lines), { mode: 0o600 });
        renameSync(next, path);
      },
      close: unlock,
    };
  } catch (error) {
    throw new Error(`sandbox: ${file} ${(error as Error).message}; choose another file`, { cause: error });
  }
}

function refuseForeignFile(file: string): void {
  const opened = openSync(file, "a+", 0o600);
  const start = Buffer.alloc(MARK.length);
  const length = readSync(opened, start, 0, start.length, 0);
  closeSync(opened);
  if (length > 0 && start.toString() !== MARK) throw new Error("is not a sandbox's ledger");
}

/** The files that this process has open. */
const openFiles = new Set<string>();

/** A file beside it has the number of the process that uses it, which may have been killed. */
function lock(path: string): () => void {
  const name = `${path}.lock`;
  try {
    writeFileSync(name, String(process.pid), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const pid = Number(readFileSync(name, "utf8"));
    if (openFiles.has(path) || (pid !== process.pid && isRunning(pid)))
      throw new Error(`is in use by another sandbox (process ${pid}, says ${name}): stop that one`);
    rmSync(name, { force: true });
    return lock(path);
  }
  openFiles.add(path);
  return function unlock() {
    openFiles.delete(path);
    rmSync(name, { force: true });
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function textOf(lines: readonly unknown[]): string {
  return lines.map((line) => JSON.stringify(line)).join("\n");
}

/** Without lines that a full disk has cut: they were answered with an error. */
function linesIn(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}
