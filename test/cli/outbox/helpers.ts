import type { OutboxEvent } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { expect } from "vitest";
import { outboxCommand } from "../../../src/cli/outbox/command.js";
import type { Terminal } from "../../../src/cli/terminal.js";
import { REJECTED, Stage } from "../../contract/stage.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { printedBy } from "../helpers.js";

/** Runs the command in this process. */
export const outbox = (args: readonly string[], terminal: Partial<Terminal> = {}) =>
  printedBy(outboxCommand, args, terminal);

/** What the command prints as its one JSON document, if it has nothing else to say. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
export async function jsonOf(args: readonly string[]): Promise<{ code: number; json: any }> {
  const { code, out, err } = await outbox([...args, "--json"]);
  expect({ out: out.split("\n"), err }).toEqual({ out: [expect.any(String)], err: "" });
  return { code, json: JSON.parse(out) };
}

/**
 * The directory of a disk outbox in which these events wait, and those were given up with this
 * verdict or as unconfirmed.
 */
export async function directoryWith({
  waiting = [] as readonly OutboxEvent[],
  dead = [] as readonly OutboxEvent[],
  verdict = undefined as Parameters<Stage["giveUp"]>[1],
  unconfirmed = [] as readonly OutboxEvent[],
} = {}): Promise<string> {
  const directory = scratchDirectory();
  await using stage = await Stage.open(() => diskOutbox({ directory }));
  if (dead.length > 0) await stage.giveUp(dead, verdict);
  if (unconfirmed.length > 0) await stage.giveUp(unconfirmed, { ...REJECTED, reason: "unconfirmed" });
  await stage.pause();
  await stage.add(...waiting);
  return directory;
}
