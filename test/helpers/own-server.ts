import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A server of one's own, on a free port of this machine. */
export interface OwnServer {
  /**
   * Ends it, as an administrator would (`fast` or `immediate`) or by SIGKILL of all its processes
   * (`kill`), and waits for its end.
   */
  halt(how: "fast" | "immediate" | "kill"): Promise<void>;
  /** Begins it again, on the same port and data. Resolves once it takes connections. */
  resume(): Promise<void>;
  /** Has every process of it stand still: it answers nothing, and its connections stay open. */
  suspend(): void;
  /** Has it go on after `suspend`. */
  wake(): void;
  /** Ends it and removes its data. */
  destroy(): Promise<void>;
}

/** A user that a server runs as. */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

export const HOST = "127.0.0.1";

/** Database servers refuse to run as root; if we are root, they run as another user. */
export function unprivileged(user = "postgres"): Owner {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/**
 * A port of this machine that nothing listens on. Systems give none of these to who asks for any, so
 * that it is still free later.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_000);
  const server = createServer().listen(port, HOST);
  try {
    await once(server, "listening");
  } catch {
    return freePort();
  }
  server.close();
  await once(server, "close");
  return port;
}

export function directoryFor(name: string, { uid, gid }: Owner): string {
  const directory = mkdtempSync(join(tmpdir(), `express-affiliate-${name}-`));
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
  return directory;
}

/**
 * Stops a process of ours, and returns when each of its threads stands still: SIGSTOP alone lets
 * some finish what they are at.
 */
function standStill(pid: number): void {
  process.kill(pid, "SIGSTOP");
  const tasks = `/proc/${pid}/task`;
  while (!readdirSync(tasks).every((task) => isStill(`${tasks}/${task}/stat`)));
}

function isStill(stat: string): boolean {
  try {
    // Stopped, or ended. The state comes after the program's name, which is in brackets.
    return /^.*\) [TZX] /.test(readFileSync(stat, "latin1"));
  } catch {
    // It has ended.
    return true;
  }
}

/** Starts a server. `ready`: what it says once it takes connections. `directory` goes with it. */
export async function startServer(about: {
  command: readonly [string, ...string[]];
  ready: string;
  directory: string;
  owner: Owner;
  signals: Record<"fast" | "immediate", NodeJS.Signals>;
}): Promise<OwnServer> {
  const { command, ready, directory, owner, signals } = about;
  let server: ChildProcess | undefined;

  async function resume(): Promise<void> {
    const [program, ...args] = command;
    server = spawn(program, args, { ...owner, cwd: directory, stdio: "pipe" });
    const said: string[] = [];
    for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
      said.push(line);
      if (line.includes(ready)) {
        // Whatever else it says, it must not wait for a reader.
        server.stderr?.resume();
        return;
      }
    }
    throw new Error(`${program} did not start:\n${said.join("\n")}`);
  }

  async function halt(how: "fast" | "immediate" | "kill"): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    // Not before all its children, which have its standard error too, have ended.
    const ended = once(server, "close");
    if (how === "kill") killAll(server.pid as number);
    else server.kill(signals[how]);
    await ended;
  }

  function killAll(pid: number): void {
    try {
      // What stands still starts no more children, and keeps the ids of those that end.
      standStill(pid);
      signalAll("SIGKILL");
    } catch (error) {
      // It may have ended just before.
      if ((error as { code?: string }).code !== "ESRCH") throw error;
    }
  }

  /** Its own processes alone: the server that was started here, and the children of that. */
  function signalAll(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    const pid = server?.pid;
    if (pid === undefined) return;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    const all = [pid, ...children.split(" ").filter(Boolean).map(Number)];
    // At a parent's end its children may end by themselves: it is the last.
    for (const each of signal === "SIGKILL" ? all.reverse() : all) {
      if (signal === "SIGSTOP") standStill(each);
      else process.kill(each, signal);
    }
  }

  // The process that started it may end by an error.
  const cleanUp = () => {
    server?.kill(signals.immediate);
    // It writes until it has ended.
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", cleanUp);

  await resume();
  return {
    halt,
    resume,
    suspend: () => signalAll("SIGSTOP"),
    wake: () => signalAll("SIGCONT"),
    async destroy() {
      process.removeListener("exit", cleanUp);
      await halt("immediate");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
