import { styleText } from "node:util";
import type { OutboxEvent } from "../../conversion/events.js";
import { type DeadLetter, type DeadLetterFilter, shownLetter } from "../../outbox/dead-letters.js";
import type { Outbox } from "../../outbox/outbox.js";
import type { LastEvent } from "../../outbox/queue/last-events.js";
import { maskEmails } from "../../shared/emails.js";
import { printable, visible } from "../../shared/printable.js";
import { countOf, type Finding, note, timeOf, well, wrong } from "../finding.js";
import type { Terminal } from "../terminal.js";
import { findingsOf, NO_LETTERS, scheduledIn } from "./findings.js";

/** An outbox that the host's processes may use at the same time. */
export interface OpenOutbox
  extends Pick<Outbox, "name" | "look" | "deadLetters" | "personalData" | "erase" | "close"> {
  /**
   * Makes unconfirmed dead letters of all payments that wait. Resolves to their number. If a host's
   * process runs, rejects with `ERR_AFFILIATE_OUTBOX_RUNNING`.
   */
  hold(): Promise<number>;
  /** The latest first. */
  last(limit: number): Promise<readonly LastEvent[]>;
  /** Of a directory: copies it into a new file. Resolves to the copy's bytes. */
  backup?(file: string): Promise<number>;
  /** Of a directory: how many calls go into one transaction. */
  readonly together?: number;
  /** Rejects if this user may not write. Changes nothing. */
  checkWrites(): Promise<void>;
  /** Of a database: which of its settings let it lose what it has committed. */
  cautions?(): Promise<readonly string[]>;
}

interface Report {
  /** For `--json`. */
  readonly json: object;
  /** Otherwise. */
  readonly lines: readonly (Finding | string)[];
}

export type Action = (
  outbox: OpenOutbox,
  given: {
    /** Ids of dead letters, the address of `person`, the file of `backup`. */
    readonly words: readonly string[];
    readonly all: boolean;
    readonly filter: DeadLetterFilter;
    readonly limit: number;
    readonly erase: boolean;
    /** Absent if no person has to agree. */
    readonly ask: Terminal["ask"];
  },
) => Promise<Report>;

export const status: Action = async (outbox) => {
  const counts = await outbox.look();
  const { queued, oldest, dead, byDestination = {}, trouble = null } = counts;
  const oldestMs = oldest === null ? null : Math.max(0, Date.now() - oldest);
  const { scheduled } = scheduledIn(counts);
  return {
    json: { outbox: outbox.name, queued, oldestMs, scheduled, byDestination, dead, trouble },
    lines: findingsOf(counts),
  };
};

export const list: Action = async ({ deadLetters, look }, { limit, filter }) => {
  const found = await deadLetters.list({ ...filter, limit: limit + 1 });
  const letters = found.slice(0, limit);
  const more = found.length > limit;
  const { scheduled, lines } = scheduledIn(await look());
  return {
    json: { deadLetters: letters.map(shownLetter), more, scheduled },
    lines: [
      ...(letters.length > 0 ? letters.flatMap(describe) : [NO_LETTERS]),
      ...lines,
      ...(more ? [note("there are more: --limit N lists them")] : []),
    ],
  };
};

function describe(letter: DeadLetter): string[] {
  const { id, destination, kind, reason, status, code, message, attempts, createdAt, diedAt } = letter;
  const words = [[status, code].filter(Boolean).join(" "), message].filter(Boolean).join(": ");
  const times = `happened ${timeOf(createdAt)}, given up ${timeOf(diedAt)} after ${countOf(attempts, "attempt")}`;
  return [
    `${id}  ${kind}  ${styleText("yellow", reason)}`,
    `    ${letter.unreadable ? "what is stored of it cannot be read: discard it" : eventAsText(letter.event)}`,
    ...(words === "" ? [] : [`    ${printable(maskEmails(words))}`]),
    `    ${styleText("dim", `${times}, for client id ${destination}`)}`,
  ];
}

/** A payment's id and amount, a customer's address, a click's affiliate: in one line, masked. */
function eventAsText(data: OutboxEvent["data"]): string {
  const { paymentId, leadValue, email, customerEmail, affiliateReference } = data as Partial<
    Record<"paymentId" | "leadValue" | "email" | "customerEmail" | "affiliateReference", string>
  >;
  const parts = [
    paymentId && `payment ${paymentId}`,
    leadValue,
    email ?? customerEmail,
    affiliateReference && `affiliate ${visible(affiliateReference)}`,
  ];
  return printable(maskEmails(parts.filter(Boolean).join(", ")));
}

/** Queues dead letters again. The host's own process delivers them. */
export const retry: Action = async ({ deadLetters, together }, { words, all, filter }) => {
  const { done, notFound } = all
    ? { done: await deadLetters.retryAll(filter), notFound: [] }
    : await applyTo(words, deadLetters.retry, together);
  const isLeft = all && filter.reason === undefined;
  const left = isLeft ? await deadLetters.list({ ...filter, reason: "unconfirmed", limit: 1 }) : [];
  const alone = left.map(() =>
    note("the unconfirmed ones stay: the service may have them; --reason unconfirmed queues them again"),
  );
  const says = `${done} queued again; delivered by the host's own process`;
  return { json: { retried: done, notFound }, lines: linesOf(done, says, notFound, alone) };
};

export const discard: Action = async ({ deadLetters, together }, { words, all, filter, ask }) => {
  // Read before the question: what becomes a dead letter during it stays.
  const chosen = all ? await deadLetters.ids(filter) : words;
  const question = `Discard ${countOf(chosen.length, "dead letter")}? They cannot be brought back.`;
  if (ask && chosen.length > 0 && !(await ask(question)))
    return { json: { discarded: 0, notFound: [] }, lines: [note("nothing was discarded")] };
  const { done, notFound: missing } = await applyTo(chosen, deadLetters.discard, together);
  // With --all, another process may have retried or discarded one meanwhile: no error.
  const notFound = all ? [] : missing;
  const says = `${countOf(done, "dead letter")} discarded`;
  return { json: { discarded: done, notFound }, lines: linesOf(done, says, notFound) };
};

// One by one in a database: its pool has one connection, for which a call waits only so long.
async function applyTo(words: readonly string[], apply: (id: string) => Promise<boolean>, together = 1) {
  const ids = [...new Set(words)];
  const notFound: string[] = [];
  for (let nth = 0; nth < ids.length; nth += together) {
    const some = ids.slice(nth, nth + together);
    const done = await Promise.all(some.map(apply));
    notFound.push(...some.filter((_, at) => !done[at]));
  }
  return { done: ids.length - notFound.length, notFound };
}

function linesOf(done: number, says: string, notFound: readonly string[], more: readonly Finding[] = []) {
  const missing = notFound.map((id) => wrong(`there is no dead letter with the id ${id}`));
  const lines = [...(done > 0 ? [well(says)] : []), ...more, ...missing];
  return lines.length > 0 ? lines : [NO_LETTERS];
}

/** Lists a person's events, or erases those that are not under way. */
export const person: Action = async (outbox, { words: [email], erase }) => {
  const erased = erase ? await outbox.erase({ email }) : undefined;
  const events = await outbox.personalData({ email });
  if (erased === undefined) {
    const lines = events.flatMap(({ id, kind, state, event, createdAt }) => [
      `${id}  ${kind}  ${styleText("yellow", state)}`,
      `    ${eventAsText(event)}`,
      `    ${styleText("dim", `happened ${timeOf(createdAt)}`)}`,
    ]);
    return { json: { events }, lines: lines.length > 0 ? lines : [well("no event with this address")] };
  }
  const done = well(`${countOf(erased, "event")} erased, and sent no more; their ids stay known`);
  const left = note(`${countOf(events.length, "event")} left, as under way: try again later`);
  return { json: { erased, events }, lines: events.length > 0 ? [done, left] : [done] };
};

/** After a restore, the service may have the payments that wait: makes dead letters of them. */
export const hold: Action = async (outbox) => {
  const held = await outbox.hold();
  const says = `${countOf(held, "payment")} held: look them up in the service, then retry or discard each`;
  return { json: { held }, lines: [well(held > 0 ? says : "no payment waits")] };
};

export const backup: Action = async (outbox, { words: [file = ""] }) => {
  if (!outbox.backup)
    throw new Error(
      "backup is for a directory; the database's own tools copy what is in a database: docs/backups.md",
    );
  const bytes = await outbox.backup(file);
  return { json: { file, bytes }, lines: [well(`${file}: ${bytes} bytes, and customers' addresses in it`)] };
};
