import type { EventKind, OutboxEvent } from "express-affiliate";
import type { Owner } from "./clock.js";
import { BEHAVIOURS, type Meaning } from "./faults.js";
import { type Request, visitorNumber } from "./service.js";

export const NEVER = Number.POSITIVE_INFINITY;

export type End = "delivered" | "dead" | "dropped" | "skipped" | "discarded" | "evicted";

/** All that is known of one event. */
export interface EventRecord {
  readonly id: string;
  readonly name: string;
  readonly kind: EventKind;
  readonly program: string;
  readonly visitors: readonly string[];
  content: string;
  /** The process that reported it when it was accepted, and its number in the order of all reports. */
  reporter: Owner | undefined;
  reportedAs: number;
  /** Its number among all receipts, once it is stored. */
  storedAs: number;
  acceptedAt: number;
  /** Receipts that say `queued`. */
  accepted: number;
  /** Whether it was in its process's spool as soon as it was reported: no kill loses it. */
  isSpooled: boolean;
  requests: Request[];
  /** How many there were when it was stored. */
  requestsBefore: number;
  /** The process that told of its end could not store it, and may be taken for dead: the event may be sent again. */
  isToldEarly: boolean;
  /** How often the service took it, and when first. */
  taken: number;
  takenAt: number | undefined;
  /** Whether the service has it, as reported by whichever process. */
  wasTaken: boolean;
  /** Whether the service is asked first whether its visitor was referred, and whether it is poison in a schedule of poison. */
  readonly isAsked: boolean;
  readonly isPoison: boolean;
  /** In how many transactions it was reported that were rolled back. */
  rolledBack: number;
  /** How often it was reported. */
  reports: number;
  ends: End[];
  /** Which process told of the last of them, and whether one of those that told of them could not reach its disk for a while. */
  teller: Owner | undefined;
  isToldTwice: boolean;
  deadCode: string | undefined;
  /** How often an operator queued it again. */
  retries: number;
  /** The earliest time before which no report of it lets it be sent, by the clock on the wall. */
  notBefore: number | undefined;
  /** Whether it was to be cancelled: a process that did so may not have lived to say so. */
  isToBeCancelled: boolean;
}

const meanings = new Map<number, Meaning>([[200, "delivered"]]);
for (const { status, meaning } of Object.values(BEHAVIOURS)) {
  if (status !== undefined && status !== 200 && !(status === 429 || status === 503))
    meanings.set(status, meaning);
}

/** What a sender has to conclude from the answer, by the table; a 409 says that the event was taken before. */
export function meaningOf({ end, behaviour }: Request): Meaning | "unsent" | undefined {
  if (!end) return undefined;
  const { attempt } = end;
  if (attempt.type === "no-answer") return attempt.requestSent ? "ambiguous" : "unsent";
  if (attempt.status === 429 || attempt.status === 503) return behaviour.meaning;
  if (attempt.status === 200) return behaviour.meaning === "rejected" ? "rejected" : "delivered";
  return meanings.get(attempt.status) ?? "rejected";
}

export function newRecord(
  { id, kind, data }: Pick<OutboxEvent, "id" | "kind" | "data">,
  program: string,
  number: number,
): EventRecord {
  const { clickId, sessionId } = data;
  const visitors: string[] = [];
  if (clickId !== undefined) visitors.push(`${program} click ${clickId}`);
  if (sessionId !== undefined) visitors.push(`${program} session ${sessionId}`);
  return {
    id,
    name: `${kind} ${number}${program === "1" ? "" : ` of ${program}`}`,
    kind,
    program,
    visitors,
    content: "",
    reporter: undefined,
    reportedAs: NEVER,
    storedAs: NEVER,
    acceptedAt: 0,
    accepted: 0,
    isSpooled: false,
    requests: [],
    requestsBefore: 0,
    isToldEarly: false,
    taken: 0,
    takenAt: undefined,
    wasTaken: false,
    isAsked: "byLoginSession" in data,
    isPoison: visitorNumber(data.sessionId ?? data.clickId ?? "") % 4 === 1,
    rolledBack: 0,
    reports: 0,
    ends: [],
    teller: undefined,
    isToldTwice: false,
    deadCode: undefined,
    retries: 0,
    notBefore: undefined,
    isToBeCancelled: false,
  };
}
