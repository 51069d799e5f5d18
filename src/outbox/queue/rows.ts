import type { OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, LEAST_URGENT_FIRST, priorityOf, rowOf } from "../../conversion/kinds.js";
import { type History, UNTRIED } from "../claim.js";
import type { Value } from "./database.js";

/** The states of an event: see README.md. */
export const NEW = 0;
export const QUEUED = 1;
export const SCHEDULED = 2;
export const DEAD = 3;
export const DONE = 4;
export const CANCELLED = 5;

/** SQL: a state that is not `QUEUED`, so that PostgreSQL and SQLite use the index of these. */
export const inState = (state: number): string => `state = ${state} and state <> ${QUEUED}`;

/** A row of `events`. Drivers give some numbers as texts. */
export interface EventRow {
  readonly seq: number;
  readonly destination: number;
  readonly id: string;
  readonly kind: number;
  readonly visitor: string;
  readonly data: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly history: string | null;
  readonly interrupted: number;
}

/** SQL: the columns of an `EventRow` of `events e`. */
export const EVENT =
  "e.seq, e.destination, e.id, e.kind, e.visitor, e.data, e.created_at, e.queued_at, e.history, e.interrupted";

/** `data`: default what the row has. */
export function eventOf(row: EventRow, data: unknown = JSON.parse(row.data)): OutboxEvent {
  return {
    id: row.id,
    destination: Number(row.destination),
    kind: kindOfPriority(Number(row.kind)),
    data,
    createdAt: Number(row.created_at),
  } as OutboxEvent;
}

export function historyOf({ history }: Pick<EventRow, "history">): History {
  return history === null ? UNTRIED : JSON.parse(history);
}

export const seqsOf = (rows: readonly Pick<EventRow, "seq">[]): number[] =>
  rows.map(({ seq }) => Number(seq));

/** SQL: `?, ?, ?`, for a list that is not empty. */
export function marks(values: readonly unknown[], each = "?"): string {
  return Array(values.length).fill(each).join(", ");
}

/** For a database of any encoding. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** As the column says of an event that is no dead letter. */
export const sizeOf = ({ data }: Pick<OutboxEvent, "data">): number => asciiJson(data).length;

/**
 * SQL: makes a row one of which only the id is known, for as long as its kind's ids are. The hosts'
 * clocks count, too: one that is set back forgets nothing early.
 */
export function forgotten(state: number | string, now: string, rememberMs: number): string {
  const lasts = LEAST_URGENT_FIRST.map(
    (kind) => `when ${priorityOf(kind)} then ${Math.min(rowOf(kind).remembered.ms, rememberMs)}`,
  );
  return `state = ${state}, at_ms = case when created_at > ${now} then created_at else ${now} end
      + case kind ${lasts.join(" ")} end, visitor = '', alias = null, alias_2 = null,
    data = '', size = 0, amount = null, history = null, death = null`;
}

/** A condition in SQL, of those whose value is given. */
export function conditions(given: Readonly<Record<string, Value | undefined>>): {
  text: string;
  values: Value[];
} {
  const all = Object.entries(given).filter((each): each is [string, Value] => each[1] !== undefined);
  return {
    text: ["0 = 0", ...all.map(([column]) => `${column} = ?`)].join(" and "),
    values: all.map(([, value]) => value),
  };
}
