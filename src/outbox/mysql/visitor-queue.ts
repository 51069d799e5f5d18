import type { OutboxEvent } from "../../events.js";
import type { Database } from "./database.js";
import { ascii, due, listOf, NOW } from "./literals.js";
import { type createLending, type Urgent, urgencyIn } from "./urgency.js";

// So many in one statement: each adds up to 4 · 256 characters of ids.
const GONE_AT_ONCE = 400;
const HEALED_AT_ONCE = 500;

/** An event that was claimed or tried stays the head of its visitor's queue, whatever is committed later. */
export const isBegun = (row: string) => `(${row}.claimed_by is not null or ${row}.tried = 1)`;

/**
 * The seq of an earlier live event of the same visitor; null where there is none. An event that was begun, that is, claimed or
 * tried, waits only for others that were begun.
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

// Else a server with old statistics reads the whole backlog in the order of seq for each event.
function indexed(prefix: string, row: string, column: OwnColumn): string {
  return `\`${prefix}events\` as ${row} force index (\`${prefix}events_${column.replace("_id", "")}\`)`;
}

/** The seq of a live event of the same visitor that was begun, and is not this one; null where there is none. */
export function begunBesides(prefix: string, event: string, begun: string): string {
  const by = (column: OwnColumn) => `(
    select other.seq from ${indexed(prefix, "other", column)}
    where other.${column} = ${event}.${column} and other.destination = ${event}.destination
      and other.state = 'queued' and other.seq <> ${event}.seq and ${begun} limit 1)`;
  return `coalesce(${by("click_id")}, ${by("session_id")})`;
}

/**
 * The visitors' queues. An event that waits behind another is parked: its `due_at` is null. A process that removes an event
 * then looks, in a new statement, for events parked behind it. A process that parks an event then looks, in a new statement,
 * whether the event before it is still there. So one of the two sees what the other did.
 */
export function createVisitorQueue(
  database: Database,
  options: { prefix: string; lending: ReturnType<typeof createLending> },
) {
  const { prefix, lending } = options;
  const events = `\`${prefix}events\``;
  // Else the server may scan a small table, and would wait for the rows of the host's open transactions.
  const eventsBySeq = `${events} force index (primary)`;

  async function unpark(seqs: readonly number[]): Promise<void> {
    if (seqs.length === 0) return;
    await database.write(
      `update ${eventsBySeq} set ${due(NOW)}
       where seq in (${listOf(seqs.map(String))}) and state = 'queued' and due_at is null`,
    );
  }

  /** Unparks those of these events that wait for no other. */
  async function unparkFree(which: string): Promise<number> {
    const rows = await database.rows<{ seq: number }>(
      `select parked.seq from ${events} as parked
       where ${which} and parked.state = 'queued' and parked.due_at is null
         and ${beforeOf(prefix, "parked")} is null
         and ${begunBesides(prefix, "parked", isBegun("other"))} is null
       limit ${HEALED_AT_ONCE}`,
    );
    await unpark(rows.map(({ seq }) => seq));
    return rows.length;
  }

  /** Parks events that wait behind others, after they have lent those their urgency. */
  async function park(behind: readonly Urgent[]): Promise<void> {
    if (behind.length === 0) return;
    // If this process dies after this, another one parks them.
    await lending.lend(behind);
    const these = listOf(behind.map(({ seq }) => String(seq)));
    await database.write(
      `update ${eventsBySeq} set due_at = null, urgency = ${urgencyIn()}
       where seq in (${these}) and state = 'queued' and due_at <= ${NOW}`,
    );
    await unparkFree(`parked.seq in (${these})`);
  }

  /** Queries for the first parked event of each of these events' visitors. */
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
    /** Events enter their visitors' queues: they lend their urgency, and those that wait are parked. */
    async enter(all: readonly (Urgent & { readonly before: number | null })[]): Promise<void> {
      await park(all.filter(({ before }) => before !== null));
      const heads = all.filter(({ before }) => before === null);
      if (heads.length === 0) return;
      await database.write(
        `update ${eventsBySeq} set urgency = ${urgencyIn()}
         where seq in (${listOf(heads.map(({ seq }) => String(seq)))}) and state = 'queued'`,
      );
    },
    /** Unparks the next event of each of these events' visitors. */
    async advance(gone: readonly OutboxEvent[]): Promise<void> {
      const seqs = new Set<number>();
      for (let nth = 0; nth < gone.length; nth += GONE_AT_ONCE) {
        const some = gone.slice(nth, nth + GONE_AT_ONCE);
        const texts = [nextOf(some, "click_id"), nextOf(some, "session_id")].flat();
        if (texts.length === 0) continue;
        for (const { seq } of await database.rows<{ seq: number }>(texts.join(" union all ")))
          seqs.add(Number(seq));
      }
      await unpark([...seqs]);
    },
    /** Unparks events that stayed parked because a process died between its two statements. */
    async heal(destination: number): Promise<void> {
      const which = `parked.destination = ${destination}`;
      while ((await unparkFree(which)) === HEALED_AT_ONCE);
    },
  };
}
