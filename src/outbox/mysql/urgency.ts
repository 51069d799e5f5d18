import type { OutboxEvent } from "../../events.js";
import { KINDS, LEAST_URGENT_FIRST, priorityOf, raisesOthers } from "../../kinds.js";
import { type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Urgency } from "../urgency.js";
import type { Database } from "./database.js";
import { ascii, listOf, NOW } from "./literals.js";

/** The urgency of a conversion until a claim has found the events that it waits for. */
export const NOT_ENTERED = 0;

const RAISED_AT_ONCE = 500;

/** The `due_at` of an event that rests or has rested, in SQL; else null. Raising the event does not change it. */
const restedSince = (row = "") => `if(${row}tried = 1 and ${row}claimed_by is null, ${row}due_at, null)`;

/** The priority of the kind of a row's event, in SQL. */
export const ownUrgency = (row = "") =>
  `field(${row}kind, ${LEAST_URGENT_FIRST.map((kind) => `'${kind}'`).join(", ")})`;

/** How urgent the event of a row is, as a number. */
export const urgencyIn = (row = "") => `greatest(${row}urgency, ${ownUrgency(row)})`;

/** Whether an endpoint's events may be that urgent. */
export function canBe(urgency: Urgency, endpoint: Endpoint): boolean {
  return priorityOf(kindOf(endpoint)) <= priorityOf(urgency);
}

/** An event and its urgency. */
export interface Urgent {
  readonly seq: number;
  readonly urgency: number;
}

/**
 * Makes each event as urgent as the most urgent event that waits for it, also through other events. An event that is raised counts as newly
 * come. Claims do it, not appends: a host's open transaction would lock the row of a click, and no claim could take that click.
 *
 * @param options.onRested called with the `due_at` of each raised event that rests or has rested.
 */
export function createLending(
  database: Database,
  options: { prefix: string; onRested: (dueAt: number) => void },
) {
  const { prefix, onRested } = options;
  const events = `\`${prefix}events\``;
  const isNext = "tried = 0 and claimed_by is null and due_at is not null";

  /** Raises the less urgent ones, and resolves to these. */
  async function raise(found: string, urgency: number): Promise<number[]> {
    const rows = await database.rows<{ seq: number; rested: number | null }>(found);
    const seqs = rows.map(({ seq }) => Number(seq));
    for (const some of inParts(seqs)) {
      await database.write(
        `update ${events} force index (primary)
         set written_at = if(${isNext}, ${NOW}, written_at), due_at = if(${isNext}, ${NOW}, due_at), urgency = ${urgency}
         where seq in (${listOf(some.map(String))}) and state = 'queued' and ${urgencyIn()} < ${urgency}`,
      );
    }
    for (const { rested } of rows) if (rested !== null) onRested(Number(rested));
    return seqs;
  }

  async function raiseBefore(seqs: readonly number[], urgency: number): Promise<void> {
    const by = (column: "click" | "session", some: readonly number[]) => `
      select earlier.seq, ${restedSince("earlier.")} as rested from ${events} as later force index (primary)
      straight_join ${events} as earlier force index (\`${prefix}events_${column}\`)
        on earlier.${column}_id = later.${column}_id and earlier.destination = later.destination
          and earlier.state = 'queued' and earlier.seq < later.seq
      where later.seq in (${listOf(some.map(String))}) and ${urgencyIn("earlier.")} < ${urgency}`;
    for (let before = seqs; before.length > 0; ) {
      const raised: number[] = [];
      for (const some of inParts(before)) {
        raised.push(...(await raise(`${by("click", some)} union ${by("session", some)}`, urgency)));
      }
      before = raised;
    }
  }

  return {
    /** Has these events lend their urgency. */
    async lend(all: readonly Urgent[]): Promise<void> {
      for (const urgency of KINDS.filter(raisesOthers).map(priorityOf)) {
        const those = all.filter((each) => Number(each.urgency) === urgency);
        await raiseBefore(
          those.map(({ seq }) => Number(seq)),
          urgency,
        );
      }
    },
    /** Lends the urgency of an event that is about to be stored. */
    async lendBefore({ kind, destination, data }: OutboxEvent): Promise<void> {
      const urgency = priorityOf(kind);
      const by = (column: "click_id" | "session_id", id: string | undefined) => `
        select seq, ${restedSince()} as rested from ${events} where destination = ${destination} and state = 'queued'
          and ${column} = ${ascii(id)} and ${urgencyIn()} < ${urgency}`;
      const own = `${by("click_id", data.clickId)} union ${by("session_id", data.sessionId)}`;
      await raiseBefore(await raise(own, urgency), urgency);
    },
  };
}

function inParts(seqs: readonly number[]): number[][] {
  const parts: number[][] = [];
  for (let nth = 0; nth < seqs.length; nth += RAISED_AT_ONCE)
    parts.push(seqs.slice(nth, nth + RAISED_AT_ONCE));
  return parts;
}
