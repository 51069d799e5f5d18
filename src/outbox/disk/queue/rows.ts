import type { EventKind, OutboxEvent } from "../../../conversion/events.js";
import type { Endpoint } from "../../../service/endpoints.js";
import { objectFromJson } from "../../../shared/json.js";
import { type DeadLetter, type Death, eventOrUnreadable } from "../../dead-letters.js";

/** What decides an event's position in its visitor's queues. */
export interface QueuePosition {
  readonly seq: number;
  readonly destination: number;
  readonly click_id: string | null;
  readonly session_id: string | null;
}

export interface EventRow extends QueuePosition {
  readonly id: string;
  readonly kind: EventKind;
  readonly data: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly size: number;
  readonly history: string | null;
  readonly interrupted: number;
}

/** A live event with what decides when it is claimed. */
export interface QueuedRow extends QueuePosition {
  readonly endpoint: Endpoint;
  readonly urgency: number;
}

/** An event that has not entered its visitor's queue yet. */
export interface NewRow extends EventRow, QueuedRow {
  /** What `data` says, if it was stored in this transaction or shortly before. */
  readonly event?: OutboxEvent;
}

/** The columns of an event that has not entered its visitor's queue yet. */
export const NEW_COLUMNS = [
  ...(["seq", "destination", "id", "kind", "endpoint", "urgency", "click_id", "session_id", "data"] as const),
  ...(["created_at", "queued_at", "size", "history", "interrupted"] as const),
];

/** A payment that waits for its `notBefore`. */
export interface ScheduledRow
  extends Pick<EventRow, "seq" | "destination" | "id" | "created_at" | "size" | "data"> {
  readonly not_before: number;
}

/** A dead letter: its `size` includes the code and message of its death. */
export interface LetterRow
  extends Omit<EventRow, "click_id" | "session_id" | "queued_at" | "interrupted">,
    Pick<Death, "attempts" | "reason"> {
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly died_at: number;
  /** The amount of a payment whose row can be read. */
  readonly amount: number | null;
}

/** What a row of any table says of its event. */
export type RowOfEvent = Pick<EventRow, "id" | "destination" | "kind" | "data" | "created_at">;

/** `undefined` if the row cannot be read. */
export function eventFromRow(row: RowOfEvent): OutboxEvent | undefined {
  const { id, destination, kind, data, created_at } = row;
  const parsed = objectFromJson(data);
  return parsed && ({ id, destination, kind, data: parsed, createdAt: created_at } as OutboxEvent);
}

export const kindKeyOf = (destination: number, kind: EventKind) => `${destination} ${kind}`;

export const laneKeyOf = (destination: number, endpoint: Endpoint, urgency: number) =>
  `${destination} ${endpoint} ${urgency}`;

/** The rows of several groups, in order. `next` finds the first row of a group behind a place. */
export function* inOrder<Group, Row extends { readonly seq: number }>(
  groups: readonly Group[],
  next: (group: Group, after: number) => Row | undefined,
): Generator<Row> {
  for (let after = 0; ; ) {
    const [first] = groups.flatMap((group) => next(group, after) ?? []).sort((a, b) => a.seq - b.seq);
    if (!first) return;
    yield first;
    after = first.seq;
  }
}

export const isEventId = (id: unknown): id is string => typeof id === "string" && /^[0-9a-f]{32}$/.test(id);

export function sizeOfWords({ code, message }: Pick<LetterRow, "code" | "message">): number {
  return Buffer.byteLength(code ?? "") + Buffer.byteLength(message ?? "");
}

export function letterOf(row: LetterRow): DeadLetter {
  const { id, destination, kind, reason, attempts, status, code, message } = row;
  const event = eventOrUnreadable(eventFromRow(row)?.data);
  const known = Object.entries({ status, code, message }).filter(([, value]) => value !== null);
  const death = { reason, attempts, ...Object.fromEntries(known), diedAt: row.died_at };
  return { id, destination, kind, ...event, createdAt: row.created_at, ...death };
}
