import type { OutboxEvent } from "../../events.js";
import type { Destinations } from "../sql/destinations.js";
import type { Database } from "./database.js";
import { ascii, due, list, NOW } from "./literals.js";
import { type createLending, type Urgent, urgencyIn } from "./urgency.js";

// In one statement: the ids of each are up to 4 · 256 characters in it.
const GONE_AT_ONCE = 400;
const HEALED_AT_ONCE = 500;

/** An event that was begun stays the first of its visitor's, whatever is committed later. */
export const isBegun = (row: string) => `(${row}.claimed_by is not null or ${row}.tried = 1)`;

/**
 * The seq of an earlier event of the same visitor that is live; null where there is none. An event that was begun waits for
 * none but those that were begun.
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

// Else a server whose statistics are older than the backlog reads it in the order of seq, from its beginning, for each event.
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
 * The places of events in their visitors' lines. An event that waits behind another is parked: its `due_at` is null. A process
 * that removes an event looks, in a statement that begins after that, for what was parked behind it; a process that parks one
 * looks, in a statement that begins after that, whether what it waits for is still there. One of the two sees the other.
 */
export function createLine(
  database: Database,
  options: { prefix: string; destinations: Destinations; lending: ReturnType<typeof createLending> },
) {
  const { prefix, destinations, lending } = options;
  const events = `\`${prefix}events\``;
  // Else the server may scan a small table, and would wait for the rows of the host's open transactions.
  const eventsBySeq = `${events} force index (primary)`;

  async function unpark(seqs: readonly number[]): Promise<void> {
    if (seqs.length === 0) return;
    await database.write(
      `update ${eventsBySeq} set ${due(NOW)}
       where seq in (${list(seqs.map(String))}) and state = 'queued' and due_at is null`,
    );
  }

  /** What waits of these, and need not: it is its turn. */
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

  /** Parks events that wait behind others, once they have lent those their urgency. */
  async function park(behind: readonly Urgent[]): Promise<void> {
    if (behind.length === 0) return;
    // A process that dies after it has left them to the next.
    await lending.lend(behind);
    const these = list(behind.map(({ seq }) => String(seq)));
    await database.write(
      `update ${eventsBySeq} set due_at = null, urgency = ${urgencyIn()}
       where seq in (${these}) and state = 'queued' and due_at <= ${NOW}`,
    );
    await unparkFree(`parked.seq in (${these})`);
  }

  /** What finds the first that is parked of each of these events' visitors. */
  function nextOf(gone: readonly OutboxEvent[], column: OwnColumn): string[] {
    const ids = new Map<string, Set<string>>();
    for (const { destination, data } of gone) {
      const id = column === "click_id" ? data.clickId : data.sessionId;
      if (id === undefined || id === null) continue;
      const number = destinations.numberOf(destination);
      ids.set(number, (ids.get(number) ?? new Set()).add(ascii(id)));
    }
    return [...ids].map(
      ([number, values]) => `
        select min(seq) as seq from ${events}
        where destination = ${number} and state = 'queued' and due_at is null and ${column} in (${list([...values])})
        group by ${column}`,
    );
  }

  return {
    park,
    /** Has events lend their urgency, and parks those that wait. */
    async lineUp(all: readonly (Urgent & { readonly before: number | null })[]): Promise<void> {
      await park(all.filter(({ before }) => before !== null));
      const heads = all.filter(({ before }) => before === null);
      if (heads.length === 0) return;
      await database.write(
        `update ${eventsBySeq} set urgency = ${urgencyIn()}
         where seq in (${list(heads.map(({ seq }) => String(seq)))}) and state = 'queued'`,
      );
    },
    /** It is the turn of the next event of each of these events' visitors, if it was parked. */
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
    /** Finds what stayed parked because a process died between its two statements. */
    async heal(destination: string): Promise<void> {
      const which = `parked.destination = ${destinations.numberOf(destination)}`;
      while ((await unparkFree(which)) === HEALED_AT_ONCE);
    },
  };
}
