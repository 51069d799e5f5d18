import type { EventKind, OutboxEvent } from "express-affiliate";
import type { Owner } from "./clock.js";
import { BEHAVIOURS, type Meaning } from "./faults.js";
import { type Request, visitorNumber } from "./service.js";

export const NEVER = Number.POSITIVE_INFINITY;

export type End = "delivered" | "dead" | "dropped" | "skipped" | "discarded" | "evicted";

/** How an end came to be known. */
export interface Told {
  readonly by: Owner;
  readonly at: number;
}

/** All that is known of one event. */
export class EventRecord {
  readonly id: string;
  readonly name: string;
  readonly kind: EventKind;
  readonly program: string;
  readonly visitors: readonly string[];
  readonly clickId: string | undefined;
  content = "";
  /** The process that reported it when it was accepted, and its number among all reports. */
  reporter: Owner | undefined;
  reportedAs = NEVER;
  /** Its number among all receipts, once it is stored. */
  storedAs = NEVER;
  acceptedAt = 0;
  /** Receipts that say `queued`. */
  accepted = 0;
  /** Whether it was in its process's spool as soon as it was reported: no kill loses it. */
  isSpooled = false;
  requests: Request[] = [];
  /** How many there were when it was stored. */
  requestsBefore = 0;
  /** Its teller could not store the end, and may seem dead: the event may be sent again. */
  isToldEarly = false;
  /** How often the service took it, and when first. */
  taken = 0;
  takenAt: number | undefined;
  /** Whether the service has it, as reported by whichever process. */
  wasTaken = false;
  /** Whether the service is first asked if its visitor was referred; whether it is poison. */
  readonly isAsked: boolean;
  readonly isPoison: boolean;
  /** In how many transactions it was reported that were rolled back. */
  rolledBack = 0;
  /** How often it was reported. */
  reports = 0;
  ends: End[] = [];
  /** Who told of the last end and of the one before, and when. */
  told: Told | undefined;
  toldBefore: Told | undefined;
  /** A teller could not reach its disk for a while. */
  isToldTwice = false;
  deadCode: string | undefined;
  /** How often an operator queued it again. */
  retries = 0;
  /** The earliest time before which no report of it lets it be sent, by the clock on the wall. */
  notBefore: number | undefined;
  /** Whether it was to be cancelled: a process that did so may not have lived to say so. */
  isToBeCancelled = false;

  constructor(
    { id, kind, data }: Pick<OutboxEvent, "id" | "kind" | "data">,
    program: string,
    number: number,
  ) {
    const { clickId, sessionId } = data;
    this.id = id;
    this.name = `${kind} ${number}${program === "1" ? "" : ` of ${program}`}`;
    this.kind = kind;
    this.program = program;
    this.clickId = clickId;
    // One key: order along a click id is not promised between events with a session and without.
    const name = sessionId === undefined ? clickId && `click ${clickId}` : `session ${sessionId}`;
    this.visitors = name === undefined ? [] : [`${program} ${name}`];
    this.isAsked = clickId === undefined && sessionId?.startsWith("login-") === true;
    this.isPoison = visitorNumber(sessionId ?? clickId ?? "") % 4 === 1;
  }
}

/** Of each status but those that have several: 200, 429 and 503. */
const meanings = new Map(Object.values(BEHAVIOURS).map(({ status, meaning }) => [status, meaning]));

/** What a sender has to conclude from the answer. A 409 says that the event was taken before. */
export function meaningOf({ end, behaviour }: Request): Meaning | "unsent" | undefined {
  if (!end) return undefined;
  const { attempt } = end;
  if (attempt.type === "no-answer") return attempt.requestSent ? "ambiguous" : "unsent";
  if (attempt.status === 429 || attempt.status === 503) return behaviour.meaning;
  if (attempt.status === 200) return behaviour.meaning === "rejected" ? "rejected" : "delivered";
  return meanings.get(attempt.status) ?? "rejected";
}
