import type { OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, LEAST_URGENT_FIRST, priorityOf } from "../../conversion/kinds.js";
import { isVisitorId } from "../../conversion/visitor-ids.js";
import { objectFromJson } from "../../shared/json.js";
import { type History, UNTRIED } from "../outbox.js";

/**
 * The states of an event: see README.md. Statements compare the numbers: up to `DEAD`, its row has
 * all of an event, and of one that is `DONE` the id alone. A number never changes: it is in stored rows.
 * Another state takes one of those left free.
 */
export const NEW = 0;
export const QUEUED = 1;
export const SCHEDULED = 2;
export const DEAD = 8;
export const DONE = 9;

/** What the column `kind` has. */
export const PRIORITIES = LEAST_URGENT_FIRST.map(priorityOf);

/** SQL: a state that is not `QUEUED`, so that PostgreSQL and SQLite use the index of these. */
export const inState = (state: number): string => `state = ${state} and state <> ${QUEUED}`;

/** What is read of a row of `events`. */
export interface EventRow {
  readonly seq: number;
  readonly destination: number;
  readonly id: string;
  readonly state: number;
  readonly kind: number;
  readonly endpoint: number;
  readonly visitor: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly at_ms: number;
  readonly report: string;
  readonly data: string;
  readonly size: number;
  readonly history: string | null;
  readonly interrupted: number;
  readonly reason: string | null;
  readonly death: string | null;
}

type OfEvent = Pick<EventRow, "id" | "destination" | "kind" | "created_at" | "data">;

/**
 * What the texts of a row say; `undefined` if they cannot be read. Never throws: a row must not harm
 * those beside it.
 */
export function contentsOf(
  row: OfEvent & Pick<EventRow, "history">,
): { event: OutboxEvent; history: History } | undefined {
  const [data, history] = [dataOf(row), historyOf(row)];
  return data && history && { event: eventOf(row, data), history };
}

/**
 * `undefined` if it is no JSON object, or has a value that no report has: when the row is written
 * anew, such a value goes into a column, and the database may refuse it.
 */
export function dataOf({ data: json }: Pick<EventRow, "data">): object | undefined {
  const data = objectFromJson(json);
  return data && isRightData(data) ? data : undefined;
}

export function isRightData(data: object): boolean {
  const { clickId, sessionId, leadValue, notBefore } = data as Record<string, unknown>;
  return (
    (clickId === undefined || isVisitorId(clickId)) &&
    (sessionId === undefined || isVisitorId(sessionId)) &&
    (leadValue === undefined || Number.isFinite(leadValue)) &&
    (notBefore === undefined || Number.isSafeInteger(notBefore))
  );
}

/** `data`: default what the row has, and nothing if that cannot be read. */
export function eventOf(row: OfEvent, data: object = dataOf(row) ?? {}): OutboxEvent {
  return {
    id: row.id,
    destination: row.destination,
    kind: kindOfPriority(row.kind),
    data,
    createdAt: row.created_at,
  } as OutboxEvent;
}

const FIELDS_OF_HISTORY = Object.entries(UNTRIED);

/**
 * `undefined` if it lacks something: without a number, the time of the next attempt would be NaN.
 */
export function historyOf({ history }: Pick<EventRow, "history">): History | undefined {
  if (history === null) return UNTRIED;
  const read = objectFromJson(history) as Record<string, unknown> | undefined;
  const isRight = ([name, untried]: readonly [string, unknown]) =>
    typeof untried === "number" ? Number.isFinite(read?.[name]) : typeof read?.[name] === typeof untried;
  return FIELDS_OF_HISTORY.every(isRight) ? (read as unknown as History) : undefined;
}

export const seqsOf = (rows: readonly Pick<EventRow, "seq">[]): number[] => rows.map(({ seq }) => seq);

/** SQL: `?, ?, ?`. Servers take no empty list. */
export const marks = ({ length }: readonly unknown[], mark = "?"): string =>
  `${mark}, `.repeat(length).slice(0, -2);

/**
 * The texts of a statement with a list in it, each made once: for a new one, V8 and the database look
 * at all of it (measured, in SQLite: a tenth of a pass).
 */
export function forLength<List extends readonly unknown[]>(make: (list: List) => string) {
  const made: string[] = [];
  return (list: List): string => (made[list.length] ??= make(list));
}

/** For a database of any encoding. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const texts = new WeakMap<OutboxEvent["data"], string>();

/** What the column `data` has. Kept, because an event needs it three times: counted, stored, counted again. */
export function textOf({ data }: Pick<OutboxEvent, "data">): string {
  const text = texts.get(data) ?? asciiJson(data);
  texts.set(data, text);
  return text;
}

/** What the column `size` has for an event that is no dead letter. */
export const storedSizeOf = (event: Pick<OutboxEvent, "data">): number => textOf(event).length;
