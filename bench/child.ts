import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/**
 * Starts a module of this folder with one argument, and waits until it has said something. A
 * process of its own, so that what one measurement leaves behind is no part of the next.
 */
export async function start<Report>(module: string, argument: object = {}) {
  const path = fileURLToPath(new URL(`./${module}.js`, import.meta.url));
  const child = fork(path, [JSON.stringify(argument)], { execArgv: ["--expose-gc"] });
  child.setMaxListeners(0);
  return {
    /** What it said when it was ready. */
    ready: await wordOf<Report>(child),
    /** What it says when it is asked. */
    report() {
      child.send("report");
      return wordOf<Report>(child);
    },
    async end(): Promise<void> {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

export type Child<Report> = Awaited<ReturnType<typeof start<Report>>>;

/** What a module of this folder says, for one that has only one thing to say. */
export async function resultOf<Report>(module: string, argument: object): Promise<Report> {
  const { ready, end } = await start<Report>(module, argument);
  await end();
  return ready;
}

async function wordOf<Report>(child: ChildProcess): Promise<Report> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${child.spawnargs.at(-2)} ended with ${code}`);
  });
  const [said] = await Promise.race([once(child, "message"), ended]);
  return said as Report;
}
