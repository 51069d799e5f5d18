import type { EventKind } from "../../events.js";
import type { Endpoint } from "../../service/endpoints.js";
import { NOT_READY } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";

/** Whether neither of an event's ids has an earlier event in its line. The names are those of its columns, or of parameters. */
export const isFirst = (seq: string, destination: string, clickId: string, sessionId: string) => `
  not exists (
    select 1 from events as earlier where earlier.ready_at is not null
    and earlier.destination = ${destination} and earlier.click_id = ${clickId} and earlier.seq < ${seq}
  ) and not exists (
    select 1 from events as earlier where earlier.ready_at is not null
    and earlier.destination = ${destination} and earlier.session_id = ${sessionId} and earlier.seq < ${seq}
  )`;

const IS_FIRST = isFirst("events.seq", "events.destination", "events.click_id", "events.session_id");

const headOf = (id: "click_id" | "session_id", value: string) => `
  (select seq from events where ready_at is not null and destination = ?1 and ${id} = ${value} order by seq limit 1)`;

export const STATEMENTS = {
  next: `
    select seq, destination, endpoint, click_id, session_id,
      ready_at is null and claimed_by is null and ${IS_FIRST} as first
    from events
    where seq > ? order by seq limit ?`,
  last: "select seq from events where destination = ? and kind = ? and seq > ? order by seq desc limit 1",
  queue: `
    update events set ready_at = ${NOT_READY}
    where seq in (select value from json_each(?)) and ready_at is null`,
  makeReady: "update events set ready_at = queued_at where seq > ? and seq <= ? and ready_at is null",
  promote: `
    update events set ready_at = ?4
    where seq in (${headOf("click_id", "?2")}, ${headOf("session_id", "?3")})
    and ready_at = ${NOT_READY} and claimed_by is null and ${IS_FIRST}`,
  anyBehind: `select 1 from events where ready_at = ${NOT_READY} and claimed_by is null limit 1`,
} as const;

/** What an event's place is made of. */
export interface Placed {
  readonly seq: number;
  readonly destination: number;
  readonly click_id: string | null;
  readonly session_id: string | null;
}

/** An event that is at the head of its line. */
export interface Head extends Placed {
  readonly endpoint: Endpoint;
}

export type Lines = ReturnType<typeof createLines>;

/**
 * Who may go before whom: an event waits for every earlier one of its destination that shares its click id or its session id.
 * The lines are in the file, where all processes see them, and not in the memory of one that delivers for all. So any of them may
 * take any event: one that is killed, stands still, or that the service refuses holds back what it has claimed, and no more. What
 * is remembered here are hints of what need not be looked for; they hold until another process writes.
 * Where many events wait, they line up only when there is capacity for them; until then they lie in the order in which they
 * came, and cost no more than that, however many there are.
 */
export function createLines(db: Database, state: State) {
  const { next, last, queue, makeReady, promote, anyBehind } = prepareAll(db, STATEMENTS);
  /** Whether an event may wait behind another; `undefined`: not known, the file can tell. */
  let behind: boolean | undefined;
  /** Where the last event is that has not lined up yet, or had not, by destination and kind. */
  const lasts = new Map<string, number>();
  /** Endpoints for which, by destination, no event is ready that was never tried. */
  const withoutReady = new Set<string>();

  return {
    /**
     * Has the next `limit` events take their place behind their visitors' earlier ones. Returns how many there were.
     *
     * @param take is asked of each that is at the head of its line whether to claim it now.
     * @param claim is told which were: of none of them is any other mark made.
     */
    lineUp(limit: number, take: (head: Head) => boolean, claim: (seqs: readonly number[]) => void): number {
      const events: (Head & { readonly first: number })[] = next.all(state.linedUpTo, limit);
      const end = events.at(-1)?.seq;
      if (end === undefined) return 0;
      const visitors = new Set<string>();
      const queued: number[] = [];
      const taken: number[] = [];
      for (const event of events) {
        const own = visitorsOf(event);
        if (event.first === 0 || own.some((each) => visitors.has(each))) queued.push(event.seq);
        else if (take(event)) taken.push(event.seq);
        for (const each of own) visitors.add(each);
      }
      if (queued.length > 0) {
        queue.run(JSON.stringify(queued));
        behind = true;
      }
      if (taken.length > 0) claim(taken);
      if (queued.length + taken.length < events.length) {
        makeReady.run(state.linedUpTo, end);
        withoutReady.clear();
      }
      state.linedUpTo = end;
      return events.length;
    },
    /** An event has lined up as it came: whether it waits behind another, or is ready. */
    linedUp(isBehind: boolean): void {
      if (isBehind) behind = true;
      else withoutReady.clear();
    },
    /** An event has come that is to line up later. */
    came(destination: number, kind: EventKind, seq: number): void {
      lasts.set(`${destination} ${kind}`, seq);
    },
    /** Steps out, wherever it stands; those whose turn it is now are ready. */
    leave({ destination, click_id, session_id }: Omit<Placed, "seq">, now: number): void {
      behind ??= anyBehind.get() !== undefined;
      if (!behind) return;
      promote.run(destination, click_id, session_id, now);
      withoutReady.clear();
    },
    /** Whether events of this destination and kind have not lined up yet. */
    hasMore(destination: number, kind: EventKind): boolean {
      if (state.isLinedUp) return false;
      const key = `${destination} ${kind}`;
      const seq = lasts.get(key) ?? last.get(destination, kind, state.linedUpTo)?.seq ?? 0;
      lasts.set(key, seq);
      return seq > state.linedUpTo;
    },
    /** Whether an event may be ready that was never tried. */
    mayBeReady: (destination: number, endpoint: Endpoint): boolean =>
      !withoutReady.has(`${destination} ${endpoint}`),
    /** All that were ready, and never tried, have been claimed. */
    noneIsReady(destination: number, endpoint: Endpoint): void {
      withoutReady.add(`${destination} ${endpoint}`);
    },
    /** An event was given back. */
    isReady(): void {
      withoutReady.clear();
    },
    /** What is remembered may be wrong. */
    forget(): void {
      behind = undefined;
      lasts.clear();
      withoutReady.clear();
    },
  };
}

function visitorsOf({ destination, click_id, session_id }: Placed): string[] {
  const visitors: string[] = [];
  if (click_id !== null) visitors.push(`${destination} click ${click_id}`);
  if (session_id !== null) visitors.push(`${destination} session ${session_id}`);
  return visitors;
}
