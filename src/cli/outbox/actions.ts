import type { OutboxEvent } from "../../conversion/events.js";
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterSum,
  shownLetter,
} from "../../outbox/dead-letters.js";
import type { Outbox } from "../../outbox/outbox.js";
import type { LastEvent } from "../../outbox/queue/last-events.js";
import { maskEmail, maskEmails } from "../../shared/emails.js";
import { printable, visible } from "../../shared/printable.js";
import { type CheckResult, note, painted, well, wrong } from "../finding.js";
import type { Terminal } from "../terminal.js";
import {
  ageOf,
  findingsOf,
  NONE_SCHEDULED,
  scheduledAsJson,
  scheduledFindings,
  summaryOf,
} from "./findings.js";
import { countOf, timeOf } from "./words.js";

/** An outbox that the host's processes may use at the same time. */
export interface OpenOutbox
  extends Pick<Outbox, "name" | "look" | "deadLetters" | "personalData" | "erase" | "close"> {
  /**
   * Makes unconfirmed dead letters of all payments that wait. If a host's process runs, rejects
   * with `ERR_AFFILIATE_OUTBOX_RUNNING`. `otherConnections` to the same database may be hosts.
   */
  hold(): Promise<{ readonly held: number; readonly otherConnections: number }>;
  /** The latest first. */
  last(limit: number): Promise<readonly LastEvent[]>;
  /** Of a directory: copies it into a new file. Resolves to the copy's bytes. */
  backup?(file: string): Promise<number>;
  /** Of a database: rejects if it takes no writes from this user. Changes nothing. */
  checkWrites?(): Promise<void>;
  /** Of a database: which of its settings let it lose what it has committed. */
  cautions?(): Promise<readonly string[]>;
}

export interface Report {
  readonly isWell: boolean;
  /** For `--json`. */
  readonly json: object;
  /** Otherwise. */
  readonly lines: readonly (CheckResult | string)[];
}

/** The dead letters to retry or discard. */
interface Selection {
  readonly ids: readonly string[];
  readonly all: boolean;
  /** Limits `all` to some of them. */
  readonly filter: DeadLetterFilter;
}

const UNREADABLE = "what is stored of it cannot be read: discard it";
const NO_LETTERS = well("no dead letters");

export async function status(outbox: OpenOutbox): Promise<Report> {
  const counts = await outbox.look();
  const { queued, oldest, dead, byDestination = {}, trouble, scheduled = NONE_SCHEDULED } = counts;
  return {
    isWell: trouble === undefined,
    json: {
      outbox: outbox.name,
      queued,
      oldestMs: oldest === null ? null : ageOf(oldest),
      scheduled: scheduledAsJson(scheduled),
      byDestination,
      dead,
      trouble: trouble ?? null,
    },
    lines: findingsOf(counts),
  };
}

export async function list(
  outbox: OpenOutbox,
  { limit, filter }: { limit: number; filter: DeadLetterFilter },
): Promise<Report> {
  const found = await outbox.deadLetters.list({ ...filter, limit: limit + 1 });
  const deadLetters = found.slice(0, limit);
  const more = found.length > limit;
  const { scheduled = NONE_SCHEDULED } = await outbox.look();
  const areOfSeveral = new Set(deadLetters.map(({ destination }) => destination)).size > 1;
  return {
    isWell: true,
    json: { deadLetters: deadLetters.map(shownLetter), more, scheduled: scheduledAsJson(scheduled) },
    lines: [
      ...deadLetters.flatMap((letter) => describe(letter, areOfSeveral)),
      ...(deadLetters.length === 0 ? [NO_LETTERS] : []),
      ...scheduledFindings(scheduled),
      ...(more ? [note("there are more: --limit N lists them")] : []),
    ],
  };
}

function describe(letter: DeadLetter, withDestination: boolean): string[] {
  const { id, destination, kind, reason, status, code, message, attempts, createdAt, diedAt } = letter;
  const answer = [status, code].filter((each) => each !== undefined && each !== "").join(" ");
  const words = [answer, message].filter(Boolean).join(": ");
  const times = `happened ${timeOf(createdAt)}, given up ${timeOf(diedAt)} after ${countOf(attempts, "attempt")}`;
  return [
    `${id}  ${kind}  ${painted(reason, "yellow")}`,
    `    ${letter.unreadable ? UNREADABLE : eventAsText(letter.event)}${withDestination ? `, for client id ${destination}` : ""}`,
    ...(words === "" ? [] : [`    ${printable(maskEmails(words))}`]),
    `    ${painted(times, "dim")}`,
  ];
}

/** A payment's id and amount, a customer's address, a click's affiliate: in one line, masked. */
export function eventAsText(data: OutboxEvent["data"]): string {
  const { paymentId, leadValue, email, customerEmail, affiliateReference } = data as Partial<
    Record<"paymentId" | "leadValue" | "email" | "customerEmail" | "affiliateReference", string | number>
  >;
  const address = email ?? customerEmail;
  const parts = [
    paymentId !== undefined && `payment ${paymentId}`,
    leadValue,
    address !== undefined && maskEmail(String(address)),
    affiliateReference !== undefined && `affiliate ${visible(String(affiliateReference))}`,
  ];
  return printable(maskEmails(parts.filter((part) => part !== false && part !== undefined).join(", ")));
}

/** Queues dead letters again. The host's own process delivers them. */
export async function retry({ deadLetters }: OpenOutbox, { ids, all, filter }: Selection): Promise<Report> {
  const { done, notFound } = all
    ? { done: await deadLetters.retryAll(filter), notFound: [] }
    : await applyTo(ids, deadLetters.retry);
  const says = `${done} queued again; delivered by the host's own process`;
  const leavesSome = all && filter.reason === undefined;
  const left = leavesSome ? await deadLetters.list({ ...filter, reason: "unconfirmed", limit: 1 }) : [];
  const alone = left.map(() =>
    note("the unconfirmed ones stay: the service may have them; --reason unconfirmed queues them again"),
  );
  return { json: { retried: done, notFound }, ...resultOf(done, says, notFound, alone) };
}

/** Asks whether to discard all these, if there are any. */
async function agreed(sums: readonly DeadLetterSum[], ask: Terminal["ask"]): Promise<boolean> {
  const dead: Record<string, number> = {};
  for (const { reason, count } of sums) dead[reason] = (dead[reason] ?? 0) + count;
  const { count, list } = summaryOf(dead);
  if (count === 0) return true;
  return (
    (await ask?.(`Discard ${countOf(count, "dead letter")} (${list})? They cannot be brought back.`)) ?? false
  );
}

const nothingDiscarded: Report = {
  isWell: false,
  json: { discarded: 0, notFound: [] },
  lines: [note("nothing was discarded")],
};

/** @param question how to ask before all are discarded; `undefined`: they are discarded unasked. */
export async function discard(
  { deadLetters }: OpenOutbox,
  { ids, all, filter }: Selection,
  question: { readonly ask: Terminal["ask"] } | undefined,
): Promise<Report> {
  // Read before the question: what becomes a dead letter during it stays.
  const chosen = all ? await deadLetters.ids(filter) : ids;
  if (question && !(await agreed(await deadLetters.sums(filter), question.ask))) return nothingDiscarded;
  const { done, notFound: missing } = await applyTo(chosen, deadLetters.discard);
  // With --all, another process may have retried or discarded one meanwhile: no error.
  const notFound = all ? [] : missing;
  const says = `${countOf(done, "dead letter")} discarded`;
  return { json: { discarded: done, notFound }, ...resultOf(done, says, notFound) };
}

async function applyTo(ids: readonly string[], apply: (id: string) => Promise<boolean>) {
  const notFound: string[] = [];
  for (const id of ids) {
    if (!(await apply(id))) notFound.push(id);
  }
  return { done: ids.length - notFound.length, notFound };
}

function resultOf(
  done: number,
  says: string,
  notFound: readonly string[],
  more: readonly CheckResult[] = [],
): Pick<Report, "isWell" | "lines"> {
  const lines = [
    ...(done > 0 ? [well(says)] : []),
    ...more,
    ...notFound.map((id) => wrong(`there is no dead letter with the id ${id}`)),
  ];
  return { isWell: notFound.length === 0, lines: lines.length > 0 ? lines : [NO_LETTERS] };
}
