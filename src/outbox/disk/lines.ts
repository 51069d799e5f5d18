import type { EventKind } from "../../events.js";
import { type Database, prepareAll } from "./sqlite.js";

// Neither id of the event at hand has an earlier event in its line.
const IS_FIRST = `
  not exists (select 1 from lines where visitor = events.destination || ' click ' || events.click_id and seq < events.seq)
  and not exists (select 1 from lines where visitor = events.destination || ' session ' || events.session_id and seq < events.seq)`;

export const STATEMENTS = {
  next: `
    select seq, destination, click_id, session_id from events
    where seq > (select to_seq from lined_up) order by seq limit ?`,
  more: `
    select 1 from events
    where destination = ? and kind = ? and seq > (select to_seq from lined_up) limit 1`,
  enter: "insert into lines (visitor, seq) values (?, ?)",
  lineUpTo: "update lined_up set to_seq = ?",
  leave: "delete from lines where visitor = ? and seq = ?",
  first: "select seq from lines where visitor = ? order by seq limit 1",
  makeReady: `
    update events set ready_at = ifnull(?2, queued_at)
    where seq = ?1 and ready_at is null and claimed_by is null and ${IS_FIRST}`,
} as const;

/** What an event's place is made of. */
export interface Placed {
  readonly seq: number;
  readonly destination: number;
  readonly click_id: string | null;
  readonly session_id: string | null;
}

export type Lines = ReturnType<typeof createLines>;

/**
 * Who may go before whom: an event waits for every earlier one of its destination that shares its click id or its session id. Events line up
 * only when there is capacity for them; until then they lie in the order in which they came, and cost no more than that,
 * however many there are.
 */
export function createLines(db: Database) {
  const { next, more, enter, lineUpTo, leave, first, makeReady } = prepareAll(db, STATEMENTS);

  return {
    /** Has the next `limit` events take their place behind their visitors' earlier ones. Returns how many there were. */
    lineUp(limit: number): number {
      const events: Placed[] = next.all(limit);
      for (const event of events) {
        for (const visitor of visitorsOf(event)) enter.run(visitor, event.seq);
        makeReady.run(event.seq, null);
      }
      const end = events.at(-1);
      if (end) lineUpTo.run(end.seq);
      return events.length;
    },
    /** Steps out, wherever it stands; those whose turn it is now are ready. */
    leave(event: Placed, now: number): void {
      for (const visitor of visitorsOf(event)) {
        leave.run(visitor, event.seq);
        const head = first.get(visitor);
        if (head) makeReady.run(head.seq, now);
      }
    },
    /** Whether events of this destination and kind have not lined up yet. */
    hasMore: (destination: number, kind: EventKind): boolean => more.get(destination, kind) !== undefined,
  };
}

function visitorsOf({ destination, click_id, session_id }: Placed): string[] {
  const visitors: string[] = [];
  if (click_id !== null) visitors.push(`${destination} click ${click_id}`);
  if (session_id !== null) visitors.push(`${destination} session ${session_id}`);
  return visitors;
}
