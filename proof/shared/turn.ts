import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";

const ofHead = () => execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();

/**
 * A number below `count`. With `--short`, proofs choose by it what they show: by the commit, so that
 * a run can be repeated, and for each `choice` apart. The nightly run shows all.
 */
export function turnOf(choice: string, count: number, commit = ofHead()): number {
  return createHash("sha256").update(`${choice} ${commit}`).digest().readUInt32BE() % count;
}

/** One of the list. */
export function inTurn<T>(choice: string, list: readonly T[], commit?: string): T {
  return list[turnOf(choice, list.length, commit)] as T;
}
