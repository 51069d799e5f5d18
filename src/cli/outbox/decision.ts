import type { Outbox } from "../../outbox/outbox.js";
import { lineOf, note, well, wrong } from "../finding.js";
import type { Terminal } from "../terminal.js";
import type { OpenOutbox } from "./outbox.js";
import type { Report } from "./report.js";
import { countOf } from "./words.js";

type DeadLetters = Outbox["deadLetters"];

const EVERY_ONE = 2 ** 31 - 1;

/** Which dead letters a decision is about. */
interface Chosen {
  readonly ids: readonly string[];
  readonly all: boolean;
}

/** Queues dead letters again, for the host's processes to deliver. */
export async function retry({ deadLetters }: OpenOutbox, { ids, all }: Chosen): Promise<Report> {
  const { done, notFound } = all
    ? { done: await deadLetters.retryAll(), notFound: [] }
    : await each(ids, deadLetters.retry);
  const says = `${done} queued again; delivered by the host's own process`;
  return { json: { retried: done, notFound }, ...outcome(done, says, notFound) };
}

/** Whether all dead letters may be forgotten: asks, where there are any. */
export async function mayDiscard(outbox: OpenOutbox, ask: Terminal["ask"]): Promise<boolean> {
  const reasons = Object.entries((await outbox.look()).dead).filter(([, count]) => count > 0);
  if (reasons.length === 0) return true;
  const count = reasons.reduce((sum, [, each]) => sum + each, 0);
  const list = reasons.map(([reason, each]) => `${each} ${reason}`).join(", ");
  return (
    (await ask?.(`Discard ${countOf(count, "dead letter")} (${list})? They cannot be brought back.`)) ?? false
  );
}

/** What is said where all were to be forgotten, and the answer was no. */
export const kept: Report = {
  isWell: false,
  json: { discarded: 0, notFound: [] },
  lines: (terminal) => [lineOf(note("nothing was discarded"), terminal)],
};

/** Forgets dead letters. */
export async function discard({ deadLetters }: OpenOutbox, { ids, all }: Chosen): Promise<Report> {
  const { done, notFound: gone } = await each(all ? await idsOf(deadLetters) : ids, deadLetters.discard);
  // One of all that another process has decided about meanwhile is not missed.
  const notFound = all ? [] : gone;
  const says = `${countOf(done, "dead letter")} discarded`;
  return { json: { discarded: done, notFound }, ...outcome(done, says, notFound) };
}

/** Those that are there at this moment: what dies from now on, no one has been shown. */
async function idsOf(deadLetters: DeadLetters): Promise<readonly string[]> {
  return (await deadLetters.list({ limit: EVERY_ONE })).map(({ id }) => id);
}

async function each(ids: readonly string[], decide: (id: string) => Promise<boolean>) {
  const notFound: string[] = [];
  for (const id of ids) {
    if (!(await decide(id))) notFound.push(id);
  }
  return { done: ids.length - notFound.length, notFound };
}

function outcome(done: number, says: string, notFound: readonly string[]): Pick<Report, "isWell" | "lines"> {
  const findings = [
    ...(done > 0 ? [well(says)] : []),
    ...notFound.map((id) => wrong(`there is no dead letter with the id ${id}`)),
  ];
  if (findings.length === 0) findings.push(well("no dead letters"));
  return {
    isWell: notFound.length === 0,
    lines: (terminal) => findings.map((finding) => lineOf(finding, terminal)),
  };
}
