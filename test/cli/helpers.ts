import type { SpawnOptions } from "node:child_process";
import type { Terminal } from "../../src/cli/terminal.js";
import { runNode, userProject } from "../helpers/user-project.js";

type Command<Result> = (args: string[], terminal: Terminal) => Result | Promise<Result>;

/** Runs a command in this process. */
export async function runCommand<Result = number>(
  command: Command<Result>,
  args: readonly string[],
  terminal: Partial<Terminal> = {},
): Promise<{ code: Result; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await command([...args], {
    stdout: (line) => out.push(line),
    stderr: (line) => err.push(line),
    env: {},
    ...terminal,
  });
  return { code, out, err };
}

/** Starts the package's command as it is installed, in a process of its own. */
export async function startCli(args: readonly string[], options?: SpawnOptions) {
  return runNode(await userProject({}), ["node_modules/express-affiliate/dist/cli.cjs", ...args], options);
}

/** As `runCommand`, with all that was printed as one text. */
export async function printedBy<Result = number>(...run: Parameters<typeof runCommand<Result>>) {
  const { code, out, err } = await runCommand(...run);
  return { code, out: out.join("\n"), err: err.join("\n") };
}
