import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";

const MOST_LOG = 200_000;
const PATIENCE_MS = 120_000;
const COMMAND_MS = 600_000;
const MOST_SAID = 20_000;

/** A program that runs, with all the processes that it has started. */
export interface Program {
  /** The end of what it has written. */
  log(): string;
  /** Sends it the signal, and SIGKILL if it has not ended within 15 s. Resolves when it has. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user that it runs as. Default: that of this process. */
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

const running = new Set<Child>();
process.on("exit", () => {
  for (const child of running) signal(child, "SIGKILL");
});

/** In a process group of its own, so that what it starts ends with it. */
function begin([command = "", ...args]: readonly string[], place: Place): Child {
  const child = spawn(command, args, { ...place, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  return child;
}

/** Resolves when it is there. @throws if the program ends, or takes too long. */
export async function startProgram(
  command: readonly string[],
  place: Place,
  isThere: () => Promise<boolean>,
): Promise<Program> {
  const child = begin(command, place);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said = (said + text).slice(-MOST_LOG);
    });
  }
  let isOver = false;
  const ended = once(child, "exit")
    .catch((error) => {
      said += String(error);
    })
    .finally(() => {
      isOver = true;
    });

  async function stop(how: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    if (!isOver) signal(child, how);
    const last = setTimeout(() => signal(child, "SIGKILL"), 15_000);
    await ended;
    clearTimeout(last);
    // What its first process has left behind.
    signal(child, "SIGKILL");
    running.delete(child);
  }

  const until = performance.now() + PATIENCE_MS;
  while (!(await isThere())) {
    const isLate = performance.now() > until;
    if (isOver || isLate) {
      await stop("SIGKILL");
      const what = isLate ? `did not answer within ${PATIENCE_MS / 1_000} s` : "ended";
      throw new Error(`${command.join(" ")} ${what}:\n${said.slice(-MOST_SAID)}`);
    }
    await sleep(50);
  }
  return { log: () => said, stop };
}

/** Resolves to what a command has printed. @throws with the end of that if it fails or is late. */
export async function runCommand(
  command: readonly string[],
  { withinMs = COMMAND_MS, ...place }: Place & { readonly withinMs?: number },
): Promise<string> {
  const child = begin(command, place);
  const late = setTimeout(() => signal(child, "SIGKILL"), withinMs);
  try {
    const [[code, how], stdout, stderr] = await Promise.all([
      once(child, "close"),
      text(child.stdout),
      text(child.stderr),
    ]);
    if (code === 0) return stdout;
    throw new Error(`${how ?? code}:\n${(stdout + stderr).slice(-MOST_SAID)}`);
  } catch (error) {
    throw new Error(`${command.join(" ")} failed: ${(error as Error).message}`);
  } finally {
    clearTimeout(late);
    running.delete(child);
  }
}

/** Whether an address answers below 500. */
export async function answers(address: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(address, { headersTimeout: 30_000 });
    await body.dump();
    return statusCode < 500;
  } catch {
    return false;
  }
}

function signal({ pid }: Child, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // It has ended.
  }
}
