import type { OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import { asciiJson } from "../sql/ascii-json.js";

/** Read as text if a host may have told `pg` to read the column's type in another way. */
export const EVENT_COLUMNS = `replace(id::text, '-', '') as id, kind, data::text as data, ${inMs("created_at")}`;

export const LETTER_COLUMNS = `${EVENT_COLUMNS}, reason, death::text as death, ${inMs("died_at")}`;

/** A time as milliseconds since the epoch. */
export function inMs(column: string, time = column): string {
  return `(extract(epoch from ${time}) * 1000)::bigint::text as ${column}`;
}

/** The values of `append`'s first nine parameters. */
export function columnsOf(events: readonly OutboxEvent[]): unknown[] {
  return [
    events.map(({ destination }) => destination),
    events.map(({ id }) => id),
    events.map(({ kind }) => kind),
    events.map(endpointOf),
    events.map(({ data }) => data.clickId ?? null),
    events.map(({ data }) => data.sessionId ?? null),
    events.map(({ createdAt }) => createdAt),
    events.map(({ data }) => asciiJson(data)),
    events.map(({ kind }) => priorityOf(kind)),
  ];
}
