import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** What a host says: see `say` in host.ts. */
export interface Said {
  readonly acknowledged?: string;
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

/** Starts this proof's own script as a host: all its modules are in one file. */
export function startChild(options: object, hear: (said: Said) => void): Child {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const spoken = once(lines, "line").then(([line]) => parse(line) ?? {});
  lines.on("line", (line) => {
    const said = parse(line);
    if (said) hear(said);
  });
  const ended = Promise.all([once(child, "exit"), once(lines, "close")]);
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
