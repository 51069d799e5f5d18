import type { OutboxEvent } from "../../conversion/events.js";
import { objectFromJson } from "../../shared/json.js";
import { type DeadLetter, type DeathReason, eventOrUnreadable } from "../dead-letters.js";

/** As either server gives it. */
export interface EventRow {
  readonly id: string;
  readonly kind: OutboxEvent["kind"];
  readonly data: string;
  readonly created_at: number | string;
}

export interface LetterRow extends EventRow {
  readonly reason: DeathReason;
  readonly death: string;
  readonly died_at: number | string;
}

export function eventOf({ id, kind, data, created_at }: EventRow, destination: number): OutboxEvent {
  return { id, destination, kind, data: JSON.parse(data), createdAt: Number(created_at) } as OutboxEvent;
}

export function letterOf(row: LetterRow, destination: number): DeadLetter {
  const { id, kind, created_at, died_at } = row;
  const times = { createdAt: Number(created_at), diedAt: Number(died_at) };
  const death = { reason: row.reason, attempts: 0, ...objectFromJson(row.death) };
  return { id, destination, kind, ...eventOrUnreadable(objectFromJson(row.data)), ...death, ...times };
}

/** Without data if its row cannot be read. */
export function deadEventOf(row: EventRow, destination: number): OutboxEvent {
  const { id, kind, data, created_at } = row;
  const { event } = eventOrUnreadable(objectFromJson(data));
  return { id, destination, kind, data: event, createdAt: Number(created_at) } as OutboxEvent;
}
