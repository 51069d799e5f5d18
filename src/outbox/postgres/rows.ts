import type { OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { type DeadLetter, type DeathReason, eventOrUnreadable } from "../dead-letters.js";
import { asciiJson, parsedOf } from "../sql/ascii-json.js";
import type { Destinations } from "../sql/destinations.js";

/** An event's columns, as text where a host may have told `pg` to read their types in another way. */
export const EVENT_COLUMNS = `replace(id::text, '-', '') as id, kind, data::text as data, ${inMs("created_at")}`;

export interface EventRow {
  readonly id: string;
  readonly kind: OutboxEvent["kind"];
  readonly data: string;
  readonly created_at: string;
}

export const LETTER_COLUMNS = `${EVENT_COLUMNS}, reason, death::text as death, ${inMs("died_at")}`;

export interface LetterRow extends EventRow {
  readonly reason: DeathReason;
  readonly death: string;
  readonly died_at: string;
}

/** A time as milliseconds since the epoch. */
export function inMs(column: string, time = column): string {
  return `(extract(epoch from ${time}) * 1000)::bigint::text as ${column}`;
}

export function eventOf({ id, kind, data, created_at }: EventRow, destination: string): OutboxEvent {
  return { id, destination, kind, data: JSON.parse(data), createdAt: Number(created_at) } as OutboxEvent;
}

export function letterOf(row: LetterRow, destination: string): DeadLetter {
  const { id, kind, created_at, died_at } = row;
  const times = { createdAt: Number(created_at), diedAt: Number(died_at) };
  const death = { reason: row.reason, attempts: 0, ...parsedOf(row.death) };
  return { id, destination, kind, ...eventOrUnreadable(parsedOf(row.data)), ...death, ...times };
}

/** The event of a dead letter; without data where its row cannot be read. */
export function deadEventOf(row: EventRow, destination: string): OutboxEvent {
  const { id, kind, data, created_at } = row;
  const { event } = eventOrUnreadable(parsedOf(data));
  return { id, destination, kind, data: event, createdAt: Number(created_at) } as OutboxEvent;
}

/** The values of `append`'s first eight parameters. */
export function columnsOf(events: readonly OutboxEvent[], numberOf: Destinations["numberOf"]): unknown[] {
  return [
    events.map(({ destination }) => numberOf(destination)),
    events.map(({ id }) => id),
    events.map(({ kind }) => kind),
    events.map(endpointOf),
    events.map(({ data }) => data.clickId ?? null),
    events.map(({ data }) => data.sessionId ?? null),
    events.map(({ createdAt }) => createdAt),
    events.map(({ data }) => asciiJson(data)),
  ];
}
