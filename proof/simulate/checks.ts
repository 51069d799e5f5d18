import type { Receipt } from "express-affiliate";
import type { Owner } from "./clock.js";
import { type EventRecord, meaningOf, type Told } from "./event-record.js";
import { hostOf } from "./host.js";
import type { Ledger, Watcher } from "./ledger.js";
import type { TrackerProcess } from "./process.js";
import type { Request } from "./service.js";

/** Only after these may a payment be sent again: the service cannot have taken it (docs/delivery.md). */
const MAY_GO_AGAIN = new Set(["failed", "refused", "throttled"]);

/** Compares each request and each notice, as it happens, with what the guides promise. */
export function watcherOf(ledger: Ledger): Watcher {
  const pauses = new Pauses(ledger);
  return {
    told(record, by) {
      checkTaken(ledger, record);
      checkEnds(ledger, record, by);
    },
    ended: (record, request) => pauses.ended(request, record),
    sent(record, request) {
      pauses.sent(request, record);
      checkCommitted(ledger, record);
      checkDue(ledger, record, request);
      checkSame(ledger, record, request);
      checkEnded(ledger, record);
      checkHeld(ledger, record);
      const relatives = ledger.relativesOf(record);
      for (const other of [record, ...relatives]) checkAlone(ledger, record, other, request);
      for (const other of relatives) checkOrder(ledger, record, other);
    },
  };
}

function checkSame(ledger: Ledger, record: EventRecord, { call }: Request): void {
  const content = JSON.stringify(call);
  if (record.content !== "" && record.content !== content) {
    ledger.breaks("every attempt says the same", `${record.name}: ${record.content}, then ${content}`);
  }
  record.content = content;
}

/** By the clock that judges, unless it was set back meanwhile. */
function checkDue(ledger: Ledger, { name, notBefore = 0 }: EventRecord, { sender }: Request): void {
  const earlyMs = notBefore - ledger.noteTime();
  if (earlyMs > 0)
    ledger.breaks("no payment is sent before its time", `${name}, ${earlyMs} ms early by ${sender.name}`);
}

function checkCommitted(ledger: Ledger, { name, reports, rolledBack }: EventRecord): void {
  if (reports === rolledBack) ledger.breaks("what was rolled back is not sent", name);
}

// A process tells what is stored within some milliseconds.
const TOLD_WITHIN_MS = 10;

/**
 * Whether a process has found a dropped event in a spool file: later, or while the writer lived, which
 * told of it. It stores what it finds there (docs/outboxes.md).
 */
function isFound({ id }: EventRecord, { by, at }: Told): boolean {
  const teller = hostOf(by);
  return teller.disk.spoolsTakenIn.some(
    ({ writer, readAt, content }) =>
      (writer === teller || readAt >= at - TOLD_WITHIN_MS) && content.includes(id),
  );
}

/** What has ended is not sent again, unless an operator retries a dead letter. */
function checkEnded(ledger: Ledger, record: EventRecord): void {
  const end = record.ends.at(-1);
  if (end === undefined || record.isToldEarly) return;
  if (end === "dropped" && record.told && isFound(record, record.told)) return;
  ledger.breaks("what has ended is not sent", `${record.name} is ${end}`);
}

function checkHeld(ledger: Ledger, { kind, name, requests, retries }: EventRecord): void {
  if (kind !== "payment" || retries > 0) return;
  for (const earlier of requests.slice(0, -1)) {
    const meaning = meaningOf(earlier);
    if (meaning !== undefined && MAY_GO_AGAIN.has(meaning)) continue;
    ledger.breaks(
      "a payment that may have been taken is held",
      `${name} was ${meaning ?? "not answered"} before`,
    );
  }
}

/** One attempt at a time for each visitor, of processes that live and have not stood still. */
function checkAlone(ledger: Ledger, record: EventRecord, other: EventRecord, request: Request): void {
  // A late verdict has delivered it, and the process that took it over meanwhile still tries it. That
  // no two attempts at one event overlap was checked when the second was sent.
  if (other !== record && other.ends.includes("delivered")) return;
  for (const earlier of other.requests) {
    if (earlier === request || earlier.end || !earlier.sender.isAlive) continue;
    if (hasStoodStillSince(earlier.sender, earlier.sentAt)) continue;
    ledger.breaks(
      "a visitor's events go one at a time",
      `${record.name} is sent while ${other.name} is under way`,
    );
  }
}

const stalls = new WeakMap<Owner, number>();

/** The process goes on after a standstill: its earlier attempts no longer count as under way. */
export function noteStall(owner: Owner, now: number): void {
  stalls.set(owner, now);
}

export function hasStoodStillSince(owner: Owner, time: number): boolean {
  return owner.isStalled || (stalls.get(owner.process ?? owner) ?? -1) >= time;
}

/** Once an event was sent, no earlier event of its visitor is. */
function checkOrder(ledger: Ledger, record: EventRecord, later: EventRecord): void {
  // It was put behind what came while it was scheduled.
  if (record.notBefore !== undefined) return;
  // Stored by a process that was killed before it could say so: its position is unknown.
  if (later.accepted === 0) return;
  if (later.requests.length === later.requestsBefore || !isBefore(record, later)) return;
  ledger.breaks(
    "a visitor's events go in order",
    `${record.name} is sent after ${later.name}, which was reported later`,
  );
}

function isBefore(one: EventRecord, other: EventRecord): boolean {
  if (one.reporter !== undefined && one.reporter === other.reporter) return one.reportedAs < other.reportedAs;
  return one.storedAs < other.reportedAs;
}

function checkTaken(ledger: Ledger, { name, ends, wasTaken }: EventRecord): void {
  if (ends.at(-1) === "delivered" && !wasTaken) ledger.breaks("what is delivered was taken", name);
}

/** An event ends once, but one that was given up for a stalled process may yet be delivered. */
function checkEnds(ledger: Ledger, record: EventRecord, by: Owner): void {
  // It stood still since the event came: another process may have ended it, too, before or after.
  if (hasStoodStillSince(by, record.acceptedAt)) record.isToldTwice = true;
  const { name, ends, deadCode, isToldEarly, isToldTwice } = record;
  if (ends.length < 2 || isToldEarly || isToldTwice) return;
  if (ends.length === 2 && ends[0] === "dead" && ends[1] === "delivered" && deadCode === undefined) return;
  if (ends.at(-2) === "dropped" && record.toldBefore && isFound(record, record.toldBefore)) return;
  ledger.breaks("an event ends once", `${name} is ${ends.join(", then ")}`);
}

const RECEIPT_WITHIN_MS = 1_000;

interface Reported {
  readonly process: TrackerProcess;
  readonly receipt: Receipt;
  readonly reportedAt: number;
  readonly waitedMs: number;
  /** Whether it was stored before. */
  readonly isKnown: boolean;
}

/** What a receipt says must be so, and it must say it soon. */
export function checkReceipt(
  ledger: Ledger,
  record: EventRecord,
  { process, receipt, reportedAt, waitedMs, isKnown }: Reported,
): void {
  if (waitedMs > RECEIPT_WITHIN_MS + 1 && !hasStoodStillSince(process.owner, reportedAt)) {
    ledger.breaks("a receipt is there within 1 s", `that of ${record.name} took ${Math.round(waitedMs)} ms`);
  }
  // Its own process has not stored it first, if another one found the event in a spool file.
  const { host } = process;
  const isTakenIn = host.disk.spoolsTakenIn.some(
    ({ writer, content }) => writer === host && content.includes(record.id),
  );
  if (receipt.outcome === "duplicate" && record.reports === 1 && !isTakenIn) {
    ledger.breaks("what is new is no duplicate", record.name);
  }
  // An outbox with little bounds forgets early.
  const isStored = receipt.outcome === "queued" && receipt.reason === undefined;
  if (isStored && isKnown && !ledger.forgets) ledger.breaks("a duplicate is recognised", record.name);
  if (receipt.outcome === "rejected" && receipt.reason !== "closed" && !ledger.forgets) {
    ledger.breaks("what is reported is accepted", `${record.name} is rejected: ${receipt.reason}`);
  }
}

/** What an attempt needs to leave that had begun when the service asked for a pause. */
const CONNECTING_MS = 10;
const SHORTEST_MS = 1_000;

/** When services asked processes for a pause at an endpoint, and until when (docs/delivery.md). */
class Pauses {
  readonly #ledger: Ledger;
  readonly #pauses = new Map<string, { readonly since: number; readonly until: number }>();
  readonly #asked = new Set<EventRecord>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  sent({ sender, call, sentAt }: Request, { name, isAsked }: EventRecord): void {
    const pause = this.#pauses.get(keyOf(sender, call.path));
    // One for which the status endpoint is asked first may have begun long before.
    if (!pause || isAsked || sentAt < pause.since + CONNECTING_MS || sentAt >= pause.until - 1) return;
    if (hasStoodStillSince(sender, pause.since)) return;
    this.#ledger.breaks("a pause is kept", `${name} is sent ${Math.round(pause.until - sentAt)} ms too soon`);
  }

  ended(request: Request, record: EventRecord): void {
    if (meaningOf(request) !== "throttled") return;
    // A second time for the same event, it may mean that event alone.
    const isFirst = !this.#asked.has(record);
    this.#asked.add(record);
    if (!isFirst) return;
    const { end, sender, call, behaviour } = request;
    const since = end?.at ?? 0;
    const forMs = Math.max(SHORTEST_MS, Number(behaviour.retryAfter) * 1_000);
    this.#pauses.set(keyOf(sender, call.path), { since, until: since + forMs });
  }
}

const keyOf = ({ name }: Owner, path: string): string => `${name} ${path}`;
