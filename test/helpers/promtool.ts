import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const inCache = resolve(import.meta.dirname, "../../node_modules/.cache/promtool/usr/bin/promtool");
const program = [process.env.PROMTOOL, inCache, "/usr/bin/promtool"].find((path) => path && existsSync(path));

/**
 * Whether promtool is there (`.ci/promtool` gets it). If it is not, tests say that they were
 * skipped; in CI they fail.
 */
export const hasPromtool = program !== undefined;
if (!hasPromtool) {
  if (process.env.CI) throw new Error("there is no promtool: run .ci/promtool, or set PROMTOOL");
  console.warn("skipped, for there is no promtool on this machine: run .ci/promtool, or set PROMTOOL");
}

/** Runs promtool; returns what it says. Throws if it finds something wrong. */
export function promtool(args: string[], input = ""): string {
  return execFileSync(program as string, args, { input, encoding: "utf8", stdio: "pipe" });
}

/** What promtool has against the arguments; an empty string if it has nothing. */
export function complaintsOfPromtool(args: string[], input = ""): string {
  const { status, stdout, stderr } = spawnSync(program as string, args, { input, encoding: "utf8" });
  return status === 0 ? "" : `${stdout}${stderr}`;
}
