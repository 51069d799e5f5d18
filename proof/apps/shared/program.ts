import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { request } from "undici";

const MOST_LOG = 200_000;
const PATIENCE_MS = 120_000;

/** A program that runs, with all the processes that it has started. */
export interface Program {
  /** The end of what it has written. */
  log(): string;
  /** Sends it the signal, and waits for its end. A program that does not end within 15 s gets SIGKILL. */
  stop(signal?: "SIGTERM" | "SIGINT" | "SIGKILL"): Promise<void>;
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) signal(child, "SIGKILL");
});

/** Starts a program. Resolves when the address answers below 500. @throws if the program ends before, or takes too long. */
export async function startProgram(
  [command = "", ...args]: readonly string[],
  { cwd, env }: ProgramOptions,
  address: string,
): Promise<Program> {
  // In a process group of its own, so that what it starts ends with it.
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said = (said + text).slice(-MOST_LOG);
    });
  }
  const ended = once(child, "exit").catch((error) => {
    said += String(error);
  });
  let isOver = false;
  ended.then(() => {
    isOver = true;
  });

  async function stop(how: "SIGTERM" | "SIGINT" | "SIGKILL" = "SIGTERM"): Promise<void> {
    if (!isOver) signal(child, how);
    const last = setTimeout(() => signal(child, "SIGKILL"), 15_000);
    await ended;
    clearTimeout(last);
    // What its first process has left behind.
    signal(child, "SIGKILL");
    running.delete(child);
  }

  const until = performance.now() + PATIENCE_MS;
  while (!(await answers(address))) {
    const isLate = performance.now() > until;
    if (isOver || isLate) {
      await stop("SIGKILL");
      const what = isLate ? `did not answer within ${PATIENCE_MS / 1_000} s` : "ended";
      throw new Error(`${command} ${args.join(" ")} ${what}:\n${said.slice(-6_000)}`);
    }
    await sleep(100);
  }
  return { log: () => said, stop };
}

/** Runs a command to its end. @throws with its output if it fails. */
export async function runCommand(
  [command = "", ...args]: readonly string[],
  { cwd, env }: ProgramOptions,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      ...{ cwd, env, timeout: 600_000, maxBuffer: 64 * 1024 * 1024 },
    });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed:\n${(stdout + stderr).slice(-6_000) || error}`);
  }
}

async function answers(address: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(address, { headersTimeout: 30_000 });
    await body.dump();
    return statusCode < 500;
  } catch {
    return false;
  }
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // It has ended.
  }
}
