import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** What a host says. */
export interface Said {
  readonly acknowledged?: string;
  readonly late?: string;
  readonly dead?: string;
  readonly nth?: number;
  readonly reason?: string;
  readonly error?: string;
  readonly port?: number;
}

export interface Child {
  /** Resolves to the first that it says. */
  readonly spoken: Promise<Said>;
  readonly ended: Promise<unknown>;
  kill(): Promise<unknown>;
}

/** Starts a host that can be killed: a script, and its argument as JSON. */
export function startChild(script: string, argument: object, hear: (said: Said) => void): Child {
  const args = [script, JSON.stringify(argument)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const said = parse(line);
    if (said) hear(said);
  });
  const ended = Promise.all([once(child, "exit"), once(lines, "close")]);
  const spoken = Promise.race([
    once(lines, "line").then(([line]) => parse(line) ?? {}),
    ended.then(([how]) => {
      throw new Error(`${script} has said nothing, and ended: ${how}`);
    }),
  ]);
  // Not everybody waits for it.
  spoken.catch(() => {});
  return {
    spoken,
    ended,
    kill() {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

/** A line, unless the kill cut it short. */
function parse(line: string): Said | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Written synchronously, so that all that was said before the kill is in the output. */
export function say(line: Said): void {
  for (;;) {
    try {
      writeSync(1, `${JSON.stringify(line)}\n`);
      return;
    } catch (error) {
      // The reader has not kept up.
      if ((error as { code?: string }).code !== "EAGAIN") throw error;
    }
  }
}
