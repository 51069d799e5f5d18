import type { Owner } from "./clock.js";
import { type Ledger, meaningOf, type Tale } from "./ledger.js";
import type { Request } from "./service.js";

/** What may not be sent again unless an operator says so: a payment that may have been taken (DESIGN §4). */
const MAY_GO_AGAIN = new Set(["failed", "refused", "throttled"]);

/** Compares each request and each notice, as it happens, with what DESIGN §3 to §5 promise of a single event. */
export function watchEvents(ledger: Ledger): void {
  ledger.watchers.push((what, tale, by, request) => {
    if (what === "told") {
      checkTaken(ledger, tale);
      checkEnds(ledger, tale, by);
      return;
    }
    checkSame(ledger, tale, request as Request);
    checkEnded(ledger, tale);
    checkHeld(ledger, tale);
    for (const other of [tale, ...ledger.relativesOf(tale)])
      checkAlone(ledger, tale, other, request as Request);
    for (const other of ledger.relativesOf(tale)) checkOrder(ledger, tale, other);
  });
}

function checkSame(ledger: Ledger, tale: Tale, { call }: Request): void {
  const content = JSON.stringify(call);
  if (tale.content !== "" && tale.content !== content) {
    ledger.breaks("every attempt says the same", `${tale.name}: ${tale.content}, then ${content}`);
  }
  tale.content = content;
}

/** Delivered, dropped, skipped and discarded events are not sent again, and dead letters only by an operator's hand. */
function checkEnded(ledger: Ledger, tale: Tale): void {
  const end = tale.ends.at(-1);
  if (end === undefined || isRevivable(tale) || tale.isToldEarly) return;
  ledger.breaks("what has ended is not sent", `${tale.name} is ${end}`);
}

/** Held for an attempt that, as its process knows when it goes on, was never made: then it goes back in line. */
function isRevivable(tale: Tale): boolean {
  return tale.ends.at(-1) === "dead" && tale.deadCode === "ERR_INTERRUPTED";
}

function checkHeld(ledger: Ledger, { kind, name, requests, retries }: Tale): void {
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

/** One attempt at a time for each visitor, but for those of processes that have ended or stood still. */
function checkAlone(ledger: Ledger, tale: Tale, other: Tale, request: Request): void {
  for (const earlier of other.requests) {
    if (earlier === request || earlier.end || !earlier.sender.isAlive) continue;
    if (hasStoodStillSince(earlier.sender, earlier.sentAt)) continue;
    ledger.breaks(
      "a visitor's events go one at a time",
      `${tale.name} is sent while ${other.name} is under way`,
    );
  }
}

const stalls = new WeakMap<Owner, number>();

/** The process goes on after a standstill: what it had under way before it is not counted as under way any more. */
export function noteStall(owner: Owner, now: number): void {
  stalls.set(owner, now);
}

export function hasStoodStillSince(owner: Owner, time: number): boolean {
  return owner.isStalled || (stalls.get(owner) ?? -1) >= time;
}

/** Once an event was sent, no earlier event of its visitor is. */
function checkOrder(ledger: Ledger, tale: Tale, later: Tale): void {
  if (later.requests.length === later.requestsBefore || !isBefore(tale, later) || isRevivable(tale)) return;
  ledger.breaks(
    "a visitor's events go in order",
    `${tale.name} is sent after ${later.name}, which was reported later`,
  );
}

function isBefore(one: Tale, other: Tale): boolean {
  if (one.reporter !== undefined && one.reporter === other.reporter) return one.reportedAs < other.reportedAs;
  return one.storedAs < other.reportedAs;
}

function checkTaken(ledger: Ledger, { name, ends, wasTaken }: Tale): void {
  if (ends.at(-1) === "delivered" && !wasTaken) ledger.breaks("what is delivered was taken", name);
}

/** An event ends once; only what was given up for a process that stood still may be found delivered after all. */
function checkEnds(
  ledger: Ledger,
  { name, ends, deadCode, isToldEarly, isToldTwice }: Tale,
  by: Owner,
): void {
  // A process that goes on after a standstill tells of an end that another has told of.
  if (ends.length < 2 || isToldEarly || isToldTwice || stalls.has(by)) return;
  if (ends.length === 2 && ends[0] === "dead" && ends[1] === "delivered" && deadCode === undefined) return;
  ledger.breaks("an event ends once", `${name} is ${ends.join(", then ")}`);
}
