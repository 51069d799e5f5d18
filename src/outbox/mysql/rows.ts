import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { isInheritable, priorityOf } from "../../conversion/kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import { asciiJson } from "../sql/ascii-json.js";
import { ascii, binary, integer, NOW } from "./literals.js";
import { NOT_ENTERED, ownUrgency } from "./urgency.js";

export const EVENT_COLUMNS = "seq, lower(hex(id)) as id, kind, data, created_at";

export const LETTER_COLUMNS = `${EVENT_COLUMNS}, reason, death, due_at as died_at`;

/** When an event released untried is due. One that became more urgent counts as newly come. */
export const RELEASED = `if(tried = 1 or urgency > ${ownUrgency()}, ${NOW}, least(queued_at, ${NOW}))`;

/** A known event's row has nothing of its visitor. */
export const KNOWN = `state = 'known', urgency = 0, due_at = ${NOW}, tried = 0, interrupted = 0, claimed_by = null,
  click_id = null, session_id = null, data = null, history = null, reason = null, death = null`;

/** Of a payment that was cancelled while scheduled. */
export const CANCELLED = KNOWN.replace("reason = null", "reason = 'cancelled'");

/** SQL: clicks of an event's visitor. A visitor is a session, or a click id without one. */
export function areClicksBeside({ destination, data }: OutboxEvent): string {
  const visitor =
    data.sessionId === undefined
      ? `click_id = ${ascii(data.clickId)} and session_id is null`
      : `session_id = ${ascii(data.sessionId)}`;
  return `${visitor} and destination = ${destination} and state = 'queued' and kind = 'click'`;
}

// Half of the smallest packet that the outbox works with.
const LONGEST = 524_288;

/** Statements that store events: one, unless it is too long for a server. `areDue`: as of now. */
export function insertsOf(prefix: string, events: readonly OutboxEvent[], areDue = false): string[] {
  const batches: string[][] = [[]];
  let length = 0;
  for (const event of events) {
    const row = rowOf(event, areDue);
    if (length > 0 && length + row.length > LONGEST) {
      batches.push([]);
      length = 0;
    }
    length += row.length;
    batches.at(-1)?.push(row);
  }
  return batches.map(
    (rows) => `insert into \`${prefix}events\`
      (destination, id, state, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, due_at, written_at)
      values ${rows.join(", ")}`,
  );
}

function rowOf(event: OutboxEvent, isDue: boolean): string {
  const { id, destination, kind, data, createdAt } = event;
  const at = integer(createdAt);
  const notBefore = notBeforeOf(event);
  const isScheduled = !isDue && notBefore !== undefined && `${integer(notBefore)} > ${NOW}`;
  const dueAt = isDue ? NOW : `least(${at}, ${NOW})`;
  return `(${[
    integer(destination),
    binary(id),
    isScheduled ? `if(${isScheduled}, 'scheduled', 'queued')` : "'queued'",
    `'${kind}'`,
    `'${endpointOf(event)}'`,
    isInheritable(kind) ? NOT_ENTERED : priorityOf(kind),
    ascii(data.clickId),
    ascii(data.sessionId),
    ascii(asciiJson(data)),
    at,
    at,
    isScheduled ? `if(${isScheduled}, ${integer(notBefore)}, ${dueAt})` : dueAt,
    NOW,
  ].join(", ")})`;
}
