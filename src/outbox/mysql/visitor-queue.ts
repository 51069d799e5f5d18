import type { OutboxEvent } from "../../conversion/events.js";
import type { Database } from "./database.js";
import { ascii, due, isOneOf, listOf, NOW } from "./literals.js";
import { type createInheritance, type Urgent, urgencyIn } from "./urgency.js";

// In one statement: each adds up to 4 · 256 characters of ids.
const GONE_AT_ONCE = 400;
const HEALED_AT_ONCE = 500;

/** Claimed or tried: it stays its visitor's head, whatever is committed later. */
const isBegun = (row: string) => `(${row}.claimed_by is not null or ${row}.tried = 1)`;

/**
 * The `seq` of an earlier live event of the visitor, or null. An event that was begun (claimed or
 * tried) waits only for others that were begun.
 */
export function beforeOf(prefix: string, event: string): string {
  const by = (column: OwnColumn) => `(
    select earlier.seq from ${indexed(prefix, "earlier", column)}
    where earlier.${column} = ${event}.${column} and earlier.destination = ${event}.destination
      and earlier.state = 'queued' and earlier.seq < ${event}.seq
      and (not ${isBegun(event)} or ${isBegun("earlier")})
    order by earlier.seq limit 1)`;
  return `coalesce(${by("click_id")}, ${by("session_id")})`;
}

type OwnColumn = "click_id" | "session_id";

// Otherwise a server with old statistics reads the backlog in order of `seq` for each event.
function indexed(prefix: string, row: string, column: OwnColumn): string {
  return `\`${prefix}events\` as ${row} force index (\`${prefix}events_${column.replace("_id", "")}\`)`;
}

/** The `seq` of another live event of the visitor that was begun, or null. */
export function begunBesides(prefix: string, event: string, begun: string): string {
  const by = (column: OwnColumn) => `(
    select other.seq from ${indexed(prefix, "other", column)}
    where other.${column} = ${event}.${column} and other.destination = ${event}.destination
      and other.state = 'queued' and other.seq <> ${event}.seq and ${begun} limit 1)`;
  return `coalesce(${by("click_id")}, ${by("session_id")})`;
}

/**
 * Visitors' queues. An event that waits behind another is parked: its `due_at` is null.
 *
 * 1. A process that removes an event then looks, in a new statement, for events parked behind it.
 * 2. A process that parks an event then looks, in a new statement, whether the event before it is
 *    still there.
 *
 * So one of the two sees what the other did.
 */
export function createVisitorQueue(database: Database, inheritance: ReturnType<typeof createInheritance>) {
  const { prefix, events, eventsBySeq } = database;

  async function unpark(rows: readonly { readonly seq: number }[]): Promise<void> {
    if (rows.length === 0) return;
    await database.write(
      `update ${eventsBySeq} set ${due(NOW)} where ${isOneOf(rows)} and state = 'queued' and due_at is null`,
    );
  }

  /** Unparks those that wait for no other. */
  async function unparkFree(which: string): Promise<number> {
    const rows = await database.rows<{ seq: number }>(
      `select parked.seq from ${events} as parked
       where ${which} and parked.state = 'queued' and parked.due_at is null
         and ${beforeOf(prefix, "parked")} is null
         and ${begunBesides(prefix, "parked", isBegun("other"))} is null
       limit ${HEALED_AT_ONCE}`,
    );
    await unpark(rows);
    return rows.length;
  }

  /** Parks events after those before them have inherited their priority. */
  async function park(behind: readonly Urgent[]): Promise<void> {
    if (behind.length === 0) return;
    // If this process dies after this, another parks them.
    await inheritance.passOn(behind);
    await database.write(
      `update ${eventsBySeq} set due_at = null, urgency = ${urgencyIn()}
       where ${isOneOf(behind)} and state = 'queued' and due_at <= ${NOW}`,
    );
    await unparkFree(isOneOf(behind, "parked"));
  }

  /** Queries for each of these visitors' first parked event. */
  function nextOf(gone: readonly OutboxEvent[], column: OwnColumn): string[] {
    const ids = new Map<number, Set<string>>();
    for (const { destination, data } of gone) {
      const id = column === "click_id" ? data.clickId : data.sessionId;
      if (id === undefined || id === null) continue;
      ids.set(destination, (ids.get(destination) ?? new Set()).add(ascii(id)));
    }
    return [...ids].map(
      ([destination, values]) => `
        select min(seq) as seq from ${events}
        where destination = ${destination} and state = 'queued' and due_at is null and ${column} in (${listOf([...values])})
        group by ${column}`,
    );
  }

  return {
    park,
    /**
     * Events enter their queues: those before inherit their priority, those that wait are parked.
     */
    async enter(all: readonly (Urgent & { readonly before: number | null })[]): Promise<void> {
      await park(all.filter(({ before }) => before !== null));
      const heads = all.filter(({ before }) => before === null);
      if (heads.length === 0) return;
      await database.write(
        `update ${eventsBySeq} set urgency = ${urgencyIn()} where ${isOneOf(heads)} and state = 'queued'`,
      );
    },
    /** Unparks the next event of each of these visitors. */
    async advance(gone: readonly OutboxEvent[]): Promise<void> {
      const first: { readonly seq: number }[] = [];
      for (let nth = 0; nth < gone.length; nth += GONE_AT_ONCE) {
        const some = gone.slice(nth, nth + GONE_AT_ONCE);
        const texts = [nextOf(some, "click_id"), nextOf(some, "session_id")].flat();
        if (texts.length > 0)
          first.push(...(await database.rows<{ seq: number }>(texts.join(" union all "))));
      }
      await unpark(first);
    },
    /** Unparks what stayed parked because a process died between its two statements. */
    async heal(destination: number): Promise<void> {
      const which = `parked.destination = ${destination}`;
      while ((await unparkFree(which)) === HEALED_AT_ONCE);
    },
  };
}
