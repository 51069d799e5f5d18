import { hash } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

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

/**
 * Keeps a file for this process until the returned function is called or the process ends, also by
 * `kill -9`. Resolves with `undefined` if another has it. It is a name to listen on, which the system
 * frees; a process number would stay, and be another process's next time.
 */
async function lock(path: string): Promise<(() => void) | undefined> {
  // By its folder's number: containers that share a network may give another file the same path.
  const { dev, ino } = statSync(dirname(path));
  const digest = hash("sha256", `${dev} ${ino} ${basename(path)}`);
  const name = `express-affiliate-${digest.slice(0, 32)}`;
  const { platform } = process;
  if (platform === "win32") return listenOn(`\\\\.\\pipe\\${name}`);
  // No file: a name in the machine's or the container's network.
  if (platform === "linux") return listenOn(`\0${name}`);
  const socket = join(tmpdir(), name);
  const unlock = await listenOn(socket);
  if (unlock || (await isAnswered(socket))) return unlock;
  rmSync(socket, { force: true });
  return listenOn(socket);
}

async function listenOn(name: string): Promise<(() => void) | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  // `exclusive`: in a cluster, the workers would share it.
  server.listen({ path: name, exclusive: true });
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
  return () => void server.close();
}

/** Whether a process listens there. After a kill the name stays, and no process answers. */
async function isAnswered(name: string): Promise<boolean> {
  const socket = connect(name);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
