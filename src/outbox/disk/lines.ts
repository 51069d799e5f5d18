import type { EventKind } from "../../events.js";
import type { Endpoint } from "../../service/endpoints.js";
import { precedenceOf } from "../claim-steps.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { Holdings } from "./holdings.js";
import type { Precedences } from "./protocol.js";
import { type EventRow, type Placed, rankOf } from "./rows.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import { createRaise, type Ranked } from "./urgency.js";

/** Whether neither of an event's ids has an earlier event in its line. */
const isFirst = (seq: string, destination: string, clickId: string, sessionId: string) => `
  not exists (
    select 1 from events as earlier where earlier.ready_at is not null
    and earlier.destination = ${destination} and earlier.click_id = ${clickId} and earlier.seq < ${seq}
  ) and not exists (
    select 1 from events as earlier where earlier.ready_at is not null
    and earlier.destination = ${destination} and earlier.session_id = ${sessionId} and earlier.seq < ${seq}
  )`;

const headOf = (id: "click_id" | "session_id", value: string) => `
  (select seq from events where ready_at is not null and destination = ?1 and ${id} = ${value} order by seq limit 1)`;

const some = "select value from json_each(?)";

export const STATEMENTS = {
  next: `
    select seq, destination, id, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, size, history, interrupted
    from events where seq > ? and ready_at is null order by seq limit ?`,
  // What has not lined up is as urgent as its kind.
  last: `
    select seq from events where destination = ? and urgency = ? and kind = ? and seq > ? order by seq desc limit 1`,
  first: `select ${isFirst("?1", "?2", "?3", "?4")} as first`,
  queue: `update events set ready_at = ${BEHIND} where seq in (${some})`,
  makeReady: `update events set ready_at = queued_at where seq in (${some})`,
  heads: `
    select seq, destination, endpoint, urgency, click_id, session_id from events
    where seq in (${headOf("click_id", "?2")}, ${headOf("session_id", "?3")}) and ready_at = ${BEHIND}
    and ${isFirst("events.seq", "events.destination", "events.click_id", "events.session_id")}`,
  promote: "update events set ready_at = ? where seq = ?",
  anyBehind: `select 1 from events where ready_at = ${BEHIND} limit 1`,
  anyLined: `
    select
      exists (select 1 from events indexed by events_by_click where ready_at is not null and click_id is not null)
      or exists (select 1 from events indexed by events_by_session where ready_at is not null and session_id is not null)
      as any`,
} as const;

// Read for one claim alone, where other processes' writing makes what is read useless soon; twice as many each time that it does not.
const FIRST_PORTION = 8;
const LARGEST_PORTION = 256;

/** What tells which events are claimed with it. */
export type Ready = Pick<Ranked, "destination" | "endpoint" | "urgency">;

/** An event that has not lined up yet. */
export type Waiting = EventRow & Ranked;

export type Lines = ReturnType<typeof createLines>;

/**
 * Who may go before whom: an event waits for every earlier one of its destination that shares its click id or its session id.
 * The lines are in the file, where all processes see them, and not in the memory of one that delivers for all. So any of them may
 * take any event: one that is killed, stands still, or that the service refuses holds back what it has claimed, and no more. What
 * is remembered here are hints of what need not be looked for, and the events that are next; both hold until another process writes.
 * Where many events wait, they line up only when there is capacity for them; until then they lie in the order in which they
 * came, and cost no more than that, however many there are. One that is claimed as its turn comes need not line up at all.
 */
export function createLines(db: Database, { state, holdings }: { state: State; holdings: Holdings }) {
  const { next, last, first, queue, makeReady, heads, promote, anyBehind, anyLined } = prepareAll(
    db,
    STATEMENTS,
  );
  /** The events that are next, in their order. */
  let upcoming: Waiting[] = [];
  let portion = FIRST_PORTION;
  /** Whether an event may wait behind another; `undefined`: not known, the file can tell. */
  let behind: boolean | undefined;
  /** Whether an event may be lined up; `undefined`: not known, the file can tell. */
  let lined: boolean | undefined;
  /** Where the last event is that has not lined up yet, or had not, by destination and kind. */
  const lasts = new Map<string, number>();
  /** By destination, endpoint and urgency: no event is ready that was never tried. */
  const withoutReady = new Set<string>();
  let waiting: Precedences = {};
  const raiseAhead = createRaise(db, { state, holdings });

  function takeNext(): Waiting | undefined {
    if (upcoming.length === 0) {
      if (state.isLinedUp) return undefined;
      upcoming = next.all(state.linedUpTo, portion).reverse();
      portion = Math.min(2 * portion, LARGEST_PORTION);
      // The last ones were shed, or are another process's, saved from a file that is gone.
      if (upcoming.length === 0) state.allAreLinedUp();
    }
    return upcoming.pop();
  }

  function isBehind(event: Placed): boolean {
    if (holdings.isAheadOf(event)) return true;
    lined ??= anyLined.get().any === 1;
    const { seq, destination, click_id, session_id } = event;
    return lined && first.get(seq, destination, click_id, session_id).first === 0;
  }

  /** An event that is behind no other has become ready, or more urgent. */
  function isReady({ destination, endpoint, urgency }: Ready): void {
    withoutReady.delete(keyOf(destination, endpoint, urgency));
    const precedence = precedenceOf(SHEDDING_ORDER[urgency] as Urgency, "untried");
    if (precedence > (waiting[endpoint] ?? 0)) waiting = { ...waiting, [endpoint]: precedence };
  }

  function raise(event: Omit<Ranked, "endpoint">, now: number): void {
    for (const raised of raiseAhead(event, now)) isReady(raised);
  }

  function forgetUpcoming(): void {
    upcoming = [];
    portion = FIRST_PORTION;
  }

  return {
    isBehind,
    /** Makes what an event waits for as urgent: of what is lined up. */
    raise,
    /** Whether an event may be lined up: it may be older than what was claimed before it was. */
    get mayBeLined() {
      return lined !== false;
    },
    /**
     * Has the next events take their place behind their visitors' earlier ones, until there are enough, or `most` were looked at.
     * The earlier ones become as urgent as they are.
     *
     * @param take is asked of each that is behind no other whether it is claimed now: it is not lined up then.
     */
    lineUp(
      most: number,
      now: number,
      take: (event: Waiting) => boolean = () => false,
      areEnough: () => boolean = () => false,
    ): void {
      const visitors = new Set<string>();
      const queued: Waiting[] = [];
      const ready: Waiting[] = [];
      for (let looked = 0; looked < most && !areEnough(); looked++) {
        const event = takeNext();
        if (!event) break;
        state.linedUpTo = event.seq;
        const own = visitorsOf(event);
        if (own.some((each) => visitors.has(each)) || isBehind(event)) queued.push(event);
        else if (take(event)) continue;
        else ready.push(event);
        for (const each of own) visitors.add(each);
      }
      if (queued.length > 0) {
        queue.run(JSON.stringify(queued.map(({ seq }) => seq)));
        behind = true;
      }
      if (ready.length > 0) {
        makeReady.run(JSON.stringify(ready.map(({ seq }) => seq)));
        for (const event of ready) isReady(event);
      }
      if (queued.length + ready.length > 0) lined = true;
      for (const event of queued) if (event.kind !== "click") raise(event, now);
    },
    /** An event has come that is to line up later. */
    came(destination: number, kind: EventKind, seq: number): void {
      lasts.set(`${destination} ${kind}`, seq);
    },
    /** Steps out, wherever it stands; those whose turn it is now are ready. */
    leave({ destination, click_id, session_id }: Omit<Placed, "seq">, now: number): void {
      if (lined) lined = undefined;
      behind ??= anyBehind.get() !== undefined;
      if (!behind) return;
      for (const head of heads.all(destination, click_id, session_id) as Ranked[]) {
        if (holdings.isAheadOf(head)) continue;
        promote.run(now, head.seq);
        isReady(head);
        behind = undefined;
      }
    },
    /** Whether events of this destination and kind have not lined up yet. */
    hasMore(destination: number, kind: EventKind): boolean {
      if (state.isLinedUp) return false;
      const key = `${destination} ${kind}`;
      const seq = lasts.get(key) ?? last.get(destination, rankOf(kind), kind, state.linedUpTo)?.seq ?? 0;
      lasts.set(key, seq);
      return seq > state.linedUpTo;
    },
    /** Whether an event may be ready that was never tried. */
    mayBeReady: (destination: number, endpoint: Endpoint, urgency: number): boolean =>
      !withoutReady.has(keyOf(destination, endpoint, urgency)),
    /** See `Snapshot`. */
    get waiting() {
      return waiting;
    },
    /** So it is after a claim. */
    set waiting(left: Precedences) {
      waiting = left;
    },
    /** All that were ready, and never tried, have been claimed. */
    noneIsReady(destination: number, endpoint: Endpoint, urgency: number): void {
      withoutReady.add(keyOf(destination, endpoint, urgency));
    },
    /** An event is lined up, whether or not it was. */
    linesUp(): void {
      lined = true;
    },
    /** An event was given back, as it was. */
    isGivenBack(event: Ready): void {
      lined = true;
      isReady(event);
    },
    /** An event that has not lined up is gone. */
    forgetUpcoming,
    /** What is remembered may be wrong. */
    forget(): void {
      behind = undefined;
      lined = undefined;
      lasts.clear();
      withoutReady.clear();
      forgetUpcoming();
    },
  };
}

const keyOf = (destination: number, endpoint: Endpoint, urgency: number) =>
  `${destination} ${endpoint} ${urgency}`;

function visitorsOf({ destination, click_id, session_id }: Placed): string[] {
  const visitors: string[] = [];
  if (click_id !== null) visitors.push(`${destination} click ${click_id}`);
  if (session_id !== null) visitors.push(`${destination} session ${session_id}`);
  return visitors;
}
