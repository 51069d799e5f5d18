import type { Terminal } from "../../src/cli/terminal.js";

type Command = (args: string[], terminal: Terminal) => number | Promise<number>;

/** Runs a command in this process. */
export async function runCommand(
  command: Command,
  args: readonly string[],
  terminal: Partial<Terminal> = {},
): Promise<{ code: number; out: string[]; err: string[] }> {
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
