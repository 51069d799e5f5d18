import type { OutboxEvent } from "../../events.js";
import type { ScheduledCount } from "../../outbox/counts.js";
import { type DeadLetter, type DeadLetterFilter, shownLetter } from "../../outbox/dead-letters.js";
import type { Outbox, OutboxCounts } from "../../outbox/outbox.js";
import { maskEmail, maskEmails } from "../../shared/emails.js";
import { printable } from "../../shared/printable.js";
import { type CheckResult, lineOf, note, painted, well, wrong } from "../finding.js";
import type { Terminal } from "../terminal.js";
import type { LastEvent } from "./last-events.js";
import { countOf, spanOf, timeOf } from "./words.js";

/** An outbox that the command reads, and that the host's processes may use at the same time. */
export interface OpenOutbox
  extends Pick<Outbox, "name" | "deadLetters" | "close">,
    Required<Pick<Outbox, "personalData" | "erase">> {
  look(): Promise<OutboxCounts>;
  /**
   * Makes an unconfirmed dead letter of each payment that waits. Rejects with `ERR_AFFILIATE_OUTBOX_RUNNING`, and holds none, where a
   * host's process runs. `otherConnections`: to the same database; they may be hosts.
   */
  hold(): Promise<{ readonly held: number; readonly otherConnections: number }>;
  /** The events that it has dealt with last, the latest first. */
  last(limit: number): Promise<readonly LastEvent[]>;
  /** Of a directory: writes a copy into a new file. Resolves to its bytes. */
  backup?(file: string): Promise<number>;
  /** Of a database: rejects where its server takes no writes, or this user may make none. Changes nothing. */
  checkWrites?(): Promise<void>;
  /** Of a database: what its server's settings let it lose of what it has committed. */
  cautions?(): Promise<readonly string[]>;
}

/** What an action found or did, as JSON and as lines for a person. */
export interface Report {
  readonly isWell: boolean;
  /** The one document of `--json`. */
  readonly json: object;
  readonly lines: (terminal: Terminal) => readonly string[];
}

/** Which dead letters to retry or discard. */
interface Selection {
  readonly ids: readonly string[];
  readonly all: boolean;
  /** Limits `all` to some of them. */
  readonly filter: DeadLetterFilter;
}

// docs/observability.md recommends an alert at this age: an outage should not last longer.
const LONG_MS = 60 * 60 * 1_000;

const NONE_SCHEDULED: ScheduledCount = { count: 0, next: null };
const NO_LIMIT = 2 ** 31 - 1;
const UNREADABLE = "what is stored of it cannot be read: discard it";

/** How many events wait, since when, and how many were given up. */
export async function status(outbox: OpenOutbox): Promise<Report> {
  const counts = await outbox.look();
  const { queued, oldest, dead, byDestination = {}, trouble, scheduled = NONE_SCHEDULED } = counts;
  return {
    isWell: trouble === undefined,
    json: {
      outbox: outbox.name,
      queued,
      oldestMs: ageOf(oldest),
      scheduled: scheduledAsJson(scheduled),
      byDestination,
      dead,
      trouble: trouble ?? null,
    },
    lines: linesOf(findingsOf(counts)),
  };
}

/** What is in an outbox, in words. */
export function findingsOf({
  queued,
  oldest,
  dead,
  byDestination = {},
  trouble,
  scheduled = NONE_SCHEDULED,
}: OutboxCounts): CheckResult[] {
  const { count, list } = summaryOf(dead);
  return [
    waiting(queued - scheduled.count, oldest, ageOf(oldest)),
    ...scheduledFindings(scheduled),
    ...destinations(byDestination),
    count === 0 ? well("no dead letters") : note(`${countOf(count, "dead letter")}: ${list}`),
    ...(trouble === undefined ? [] : [wrong(trouble)]),
  ];
}

function ageOf(oldest: number | null): number | null {
  return oldest === null ? null : Math.max(0, Date.now() - oldest);
}

function scheduledFindings({ count, next }: ScheduledCount): CheckResult[] {
  if (next === null) return [];
  const says = `${countOf(count, "payment")} scheduled by \`notBefore\`, the first for ${timeOf(next)}`;
  return [well(says)];
}

function scheduledAsJson({ count, next }: ScheduledCount) {
  return { count, nextInMs: next === null ? null : Math.max(0, next - Date.now()) };
}

function waiting(queued: number, oldest: number | null, oldestMs: number | null): CheckResult {
  if (queued === 0 || oldest === null || oldestMs === null) return well("nothing waits");
  const says = `${countOf(queued, "event")} queued, the oldest for ${spanOf(oldestMs)}, since ${timeOf(oldest)}`;
  return oldestMs < LONG_MS ? well(says) : note(`${says}: read the log of the host's own process`);
}

/** For which client ids events wait: each of these needs a process that delivers. */
function destinations(byDestination: Readonly<Record<string, number>>): CheckResult[] {
  const counted = Object.entries(byDestination).filter(([, count]) => count > 0);
  return counted.map(([destination, count]) =>
    (counted.length > 1 ? note : well)(`${countOf(count, "event")} for client id ${destination}`),
  );
}

/** The oldest dead letters, and whether there are more. */
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
    lines: (terminal) => [
      ...deadLetters.flatMap((letter) => describe(letter, areOfSeveral, terminal)),
      ...(deadLetters.length === 0 ? [lineOf(well("no dead letters"), terminal)] : []),
      ...scheduledFindings(scheduled).map((finding) => lineOf(finding, terminal)),
      ...(more ? [lineOf(note("there are more: --limit N lists them"), terminal)] : []),
    ],
  };
}

function describe(letter: DeadLetter, withDestination: boolean, terminal: Terminal): string[] {
  const { id, destination, kind, reason, status, code, message, attempts, createdAt, diedAt } = letter;
  const answer = [status, code].filter((each) => each !== undefined && each !== "").join(" ");
  const words = [answer, message].filter(Boolean).join(": ");
  const times = `happened ${timeOf(createdAt)}, given up ${timeOf(diedAt)} after ${countOf(attempts, "attempt")}`;
  return [
    `${id}  ${kind}  ${painted(reason, "yellow", terminal)}`,
    `    ${letter.unreadable ? UNREADABLE : eventAsText(letter.event)}${withDestination ? `, for client id ${destination}` : ""}`,
    ...(words === "" ? [] : [`    ${printable(maskEmails(words))}`]),
    `    ${painted(times, "dim", terminal)}`,
  ];
}

/** What an event is about, in one line: a payment's id and amount, a customer's masked address, a click's affiliate. */
export function eventAsText(data: OutboxEvent["data"]): string {
  const { paymentId, leadValue, email, customerEmail, affiliateReference } = data as Partial<
    Record<"paymentId" | "leadValue" | "email" | "customerEmail" | "affiliateReference", string | number>
  >;
  const address = email ?? customerEmail;
  const parts = [
    paymentId !== undefined && `payment ${paymentId}`,
    leadValue,
    address !== undefined && maskEmail(String(address)),
    affiliateReference !== undefined && `affiliate ${affiliateReference}`,
  ];
  return printable(parts.filter((part) => part !== false && part !== undefined).join(", "));
}

/** Queues dead letters again. The host's own process delivers them. */
export async function retry({ deadLetters }: OpenOutbox, { ids, all, filter }: Selection): Promise<Report> {
  const { done, notFound } = all
    ? { done: await deadLetters.retryAll(filter), notFound: [] }
    : await each(ids, deadLetters.retry);
  const says = `${done} queued again; delivered by the host's own process`;
  const isMeant = all && filter.reason === undefined;
  const left = isMeant ? await deadLetters.list({ ...filter, reason: "unconfirmed", limit: 1 }) : [];
  const alone = left.map(() =>
    note("the unconfirmed ones stay: the service may have them; --reason unconfirmed queues them again"),
  );
  return { json: { retried: done, notFound }, ...resultOf(done, says, notFound, alone) };
}

/** Asks whether to discard all these dead letters. Where there are none, it does not ask. */
export async function mayDiscard(
  { deadLetters }: OpenOutbox,
  filter: DeadLetterFilter,
  ask: Terminal["ask"],
): Promise<boolean> {
  const dead: Record<string, number> = {};
  for (const { reason } of await deadLetters.list({ ...filter, limit: NO_LIMIT })) {
    dead[reason] = (dead[reason] ?? 0) + 1;
  }
  const { count, list } = summaryOf(dead);
  if (count === 0) return true;
  return (
    (await ask?.(`Discard ${countOf(count, "dead letter")} (${list})? They cannot be brought back.`)) ?? false
  );
}

/** The report after `mayDiscard` was answered with no. */
export const nothingDiscarded: Report = {
  isWell: false,
  json: { discarded: 0, notFound: [] },
  lines: linesOf([note("nothing was discarded")]),
};

/** Removes dead letters. */
export async function discard({ deadLetters }: OpenOutbox, { ids, all, filter }: Selection): Promise<Report> {
  // Only the present ones: the person at the terminal has not seen those that come later.
  const chosen = all ? (await deadLetters.list({ ...filter, limit: NO_LIMIT })).map(({ id }) => id) : ids;
  const { done, notFound: missing } = await each(chosen, deadLetters.discard);
  // With --all, another process may have retried or discarded one in the meantime. That is no error.
  const notFound = all ? [] : missing;
  const says = `${countOf(done, "dead letter")} discarded`;
  return { json: { discarded: done, notFound }, ...resultOf(done, says, notFound) };
}

async function each(ids: readonly string[], apply: (id: string) => Promise<boolean>) {
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
  const findings = [
    ...(done > 0 ? [well(says)] : []),
    ...more,
    ...notFound.map((id) => wrong(`there is no dead letter with the id ${id}`)),
  ];
  if (findings.length === 0) findings.push(well("no dead letters"));
  return { isWell: notFound.length === 0, lines: linesOf(findings) };
}

export function linesOf(findings: readonly CheckResult[]): Report["lines"] {
  return (terminal) => findings.map((finding) => lineOf(finding, terminal));
}

function summaryOf(dead: Readonly<Record<string, number>>): { count: number; list: string } {
  const reasons = Object.entries(dead).filter(([, count]) => count > 0);
  return {
    count: reasons.reduce((sum, [, each]) => sum + each, 0),
    list: reasons.map(([reason, each]) => `${each} ${reason}`).join(", "),
  };
}
