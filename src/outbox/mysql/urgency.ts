import type { OutboxEvent } from "../../conversion/events.js";
import { isInheritable, KINDS, LEAST_URGENT_FIRST, priorityOf } from "../../conversion/kinds.js";
import { type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Urgency } from "../urgency.js";
import type { Database } from "./database.js";
import { ascii, isOneOf, NOW } from "./literals.js";

/** A conversion's urgency until a claim has found what it waits for. */
export const NOT_ENTERED = 0;

const RAISED_AT_ONCE = 500;

/** SQL: the `due_at` of what rests or has rested, or null. Inheriting does not change it. */
const restedSince = (row = "") => `if(${row}tried = 1 and ${row}claimed_by is null, ${row}due_at, null)`;

/** SQL: the priority of a row's kind. */
export const ownUrgency = (row = "") =>
  `field(${row}kind, ${LEAST_URGENT_FIRST.map((kind) => `'${kind}'`).join(", ")})`;

/** SQL: a row's priority. */
export const urgencyIn = (row = "") => `greatest(${row}urgency, ${ownUrgency(row)})`;

/** Whether an endpoint's events may be so urgent. */
export function canBe(urgency: Urgency, endpoint: Endpoint): boolean {
  return priorityOf(kindOf(endpoint)) <= priorityOf(urgency);
}

interface Row {
  readonly seq: number;
}

export interface Urgent extends Row {
  readonly urgency: number;
}

/**
 * Makes each event inherit the priority of the most urgent one behind it, over any number of steps.
 * It then counts as newly come. Claims do it, not appends: a host's open transaction would lock a
 * click's row, and no claim could take the click. Calls `onRested` with the `due_at` of each event
 * that rests or has rested.
 */
export function createInheritance(database: Database, onRested: (dueAt: number) => void) {
  const { prefix, events, eventsBySeq } = database;
  const isNext = "tried = 0 and claimed_by is null and due_at is not null";

  /** Raises the priority of less urgent ones, and resolves to these. */
  async function raise(found: string, urgency: number): Promise<Row[]> {
    const rows = await database.rows<Row & { rested: number | null }>(found);
    for (const some of inParts(rows)) {
      await database.write(
        `update ${eventsBySeq}
         set written_at = if(${isNext}, ${NOW}, written_at), due_at = if(${isNext}, ${NOW}, due_at), urgency = ${urgency}
         where ${isOneOf(some)} and state = 'queued' and ${urgencyIn()} < ${urgency}`,
      );
    }
    for (const { rested } of rows) if (rested !== null) onRested(Number(rested));
    return rows;
  }

  async function raiseBefore(rows: readonly Row[], urgency: number): Promise<void> {
    const by = (column: "click" | "session", some: readonly Row[]) => `
      select earlier.seq, ${restedSince("earlier.")} as rested from ${events} as later force index (primary)
      straight_join ${events} as earlier force index (\`${prefix}events_${column}\`)
        on earlier.${column}_id = later.${column}_id and earlier.destination = later.destination
          and earlier.state = 'queued' and earlier.seq < later.seq
      where later.${isOneOf(some)} and ${urgencyIn("earlier.")} < ${urgency}`;
    for (let before = rows; before.length > 0; ) {
      const raised: Row[] = [];
      for (const some of inParts(before)) {
        raised.push(...(await raise(`${by("click", some)} union ${by("session", some)}`, urgency)));
      }
      before = raised;
    }
  }

  return {
    /** Makes the events before these inherit. */
    async passOn(all: readonly Urgent[]): Promise<void> {
      for (const urgency of KINDS.filter(isInheritable).map(priorityOf)) {
        const those = all.filter((each) => Number(each.urgency) === urgency);
        await raiseBefore(those, urgency);
      }
    },
    /** The same for an event that is about to be stored. */
    async passOnBefore({ kind, destination, data }: OutboxEvent): Promise<void> {
      const urgency = priorityOf(kind);
      const by = (column: "click_id" | "session_id", id: string | undefined) => `
        select seq, ${restedSince()} as rested from ${events} where destination = ${destination} and state = 'queued'
          and ${column} = ${ascii(id)} and ${urgencyIn()} < ${urgency}`;
      const own = `${by("click_id", data.clickId)} union ${by("session_id", data.sessionId)}`;
      await raiseBefore(await raise(own, urgency), urgency);
    },
  };
}

function inParts(rows: readonly Row[]): (readonly Row[])[] {
  const parts: (readonly Row[])[] = [];
  for (let nth = 0; nth < rows.length; nth += RAISED_AT_ONCE) {
    parts.push(rows.slice(nth, nth + RAISED_AT_ONCE));
  }
  return parts;
}
