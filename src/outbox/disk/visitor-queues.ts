import type { EventKind } from "../../events.js";
import type { Endpoint } from "../../service/endpoints.js";
import { precedenceOf } from "../claim-steps.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { ClaimOwners } from "./claim-owners.js";
import type { Precedences } from "./protocol.js";
import { type EventRow, type QueuePosition, rankOf } from "./rows.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import { createRaise, type Ranked } from "./urgency.js";

/** Whether no queue has an earlier event with one of this event's ids. */
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
  // An event that has not entered its visitor's queue is as urgent as its kind.
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

// The first read is for one claim alone: while other processes write, rows read ahead are soon useless. While they do not, each
// read is twice as long.
const FIRST_PORTION = 8;
const LARGEST_PORTION = 256;

/** Events that agree in these are claimed together. */
export type Ready = Pick<Ranked, "destination" | "endpoint" | "urgency">;

/** An event that has not entered its visitor's queue yet. */
export type Upcoming = EventRow & Ranked;

export type VisitorQueues = ReturnType<typeof createVisitorQueues>;

/**
 * The visitors' queues: an event waits for every earlier one of its destination that shares its click id or its session id. The
 * queues are in the file, so any process may claim any event. A process that is killed, stands still, or is refused by the
 * service delays only what it has claimed. What is remembered here is a cache, valid until another process writes. An event
 * enters its visitor's queue only when there is capacity for it. Until then it lies in the order of arrival, which costs the
 * same however many wait. An event that is claimed on arrival enters no queue.
 */
export function createVisitorQueues(db: Database, { state, owners }: { state: State; owners: ClaimOwners }) {
  const { next, last, first, queue, makeReady, heads, promote, anyBehind, anyLined } = prepareAll(
    db,
    STATEMENTS,
  );
  /** The next events to enter a queue, the first of them at the end. */
  let upcoming: Upcoming[] = [];
  let portion = FIRST_PORTION;
  /** Whether an event may wait behind another in a queue; `undefined`: ask the file. */
  let behind: boolean | undefined;
  /** Whether any queue may hold an event; `undefined`: ask the file. */
  let hasQueued: boolean | undefined;
  /** By destination and kind: the sequence number of the last event that had not entered a queue when it was looked up. */
  const lasts = new Map<string, number>();
  /** Destinations, endpoints and urgencies without a ready event that was never tried. */
  const withoutReady = new Set<string>();
  let waiting: Precedences = {};
  const raiseAhead = createRaise(db, { state, owners });

  function takeNext(): Upcoming | undefined {
    if (upcoming.length === 0) {
      if (state.haveAllEntered) return undefined;
      upcoming = next.all(state.enteredUpTo, portion).reverse();
      portion = Math.min(2 * portion, LARGEST_PORTION);
      // The last ones were shed, or were saved from a lost file and are another process's.
      if (upcoming.length === 0) state.noteAllEntered();
    }
    return upcoming.pop();
  }

  function isBehind(event: QueuePosition): boolean {
    if (owners.isAheadOf(event)) return true;
    hasQueued ??= anyLined.get().any === 1;
    const { seq, destination, click_id, session_id } = event;
    return hasQueued && first.get(seq, destination, click_id, session_id).first === 0;
  }

  /** The head of a queue has become ready, or more urgent. */
  function noteReady({ destination, endpoint, urgency }: Ready): void {
    withoutReady.delete(laneKeyOf(destination, endpoint, urgency));
    const precedence = precedenceOf(SHEDDING_ORDER[urgency] as Urgency, "untried");
    if (precedence > (waiting[endpoint] ?? 0)) waiting = { ...waiting, [endpoint]: precedence };
  }

  function raise(event: Omit<Ranked, "endpoint">, now: number): void {
    for (const raised of raiseAhead(event, now)) noteReady(raised);
  }

  function forgetUpcoming(): void {
    upcoming = [];
    portion = FIRST_PORTION;
  }

  return {
    isBehind,
    /** Makes the events as urgent that an event waits for, as far as they are in a queue. */
    raise,
    /** Whether any queue may hold an event, which may be older than those that were claimed on arrival. */
    get mayHaveAny() {
      return hasQueued !== false;
    },
    /**
     * The next events enter their visitors' queues, until there are enough, or `most` were looked at. The events before them in
     * a queue become as urgent as they are.
     *
     * @param take claims an event that waits for no other, and returns `true`, or returns `false`. A claimed event enters no queue.
     */
    enter(
      most: number,
      now: number,
      take: (event: Upcoming) => boolean = () => false,
      areEnough: () => boolean = () => false,
    ): void {
      const visitors = new Set<string>();
      const queued: Upcoming[] = [];
      const ready: Upcoming[] = [];
      for (let looked = 0; looked < most && !areEnough(); looked++) {
        const event = takeNext();
        if (!event) break;
        state.enteredUpTo = event.seq;
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
        for (const event of ready) noteReady(event);
      }
      if (queued.length + ready.length > 0) hasQueued = true;
      for (const event of queued) if (event.kind !== "click") raise(event, now);
    },
    /** An event was stored that enters its visitor's queue later. */
    noteAppended(destination: number, kind: EventKind, seq: number): void {
      lasts.set(`${destination} ${kind}`, seq);
    },
    /** An event leaves its visitor's queues; the new heads are ready. */
    leave({ destination, click_id, session_id }: Omit<QueuePosition, "seq">, now: number): void {
      if (hasQueued) hasQueued = undefined;
      behind ??= anyBehind.get() !== undefined;
      if (!behind) return;
      for (const head of heads.all(destination, click_id, session_id) as Ranked[]) {
        if (owners.isAheadOf(head)) continue;
        promote.run(now, head.seq);
        noteReady(head);
        behind = undefined;
      }
    },
    /** Whether some events of this destination and kind have not entered a queue yet. */
    hasMore(destination: number, kind: EventKind): boolean {
      if (state.haveAllEntered) return false;
      const key = `${destination} ${kind}`;
      const seq = lasts.get(key) ?? last.get(destination, rankOf(kind), kind, state.enteredUpTo)?.seq ?? 0;
      lasts.set(key, seq);
      return seq > state.enteredUpTo;
    },
    /** Whether an event may be ready that was never tried. */
    mayBeReady: (destination: number, endpoint: Endpoint, urgency: number): boolean =>
      !withoutReady.has(laneKeyOf(destination, endpoint, urgency)),
    /** See `Snapshot`. */
    get waiting() {
      return waiting;
    },
    /** What a claim has left. */
    set waiting(left: Precedences) {
      waiting = left;
    },
    /** All that were ready and never tried have been claimed. */
    noteNoneReady(destination: number, endpoint: Endpoint, urgency: number): void {
      withoutReady.add(laneKeyOf(destination, endpoint, urgency));
    },
    noteNotEmpty(): void {
      hasQueued = true;
    },
    noteReleased(event: Ready): void {
      hasQueued = true;
      noteReady(event);
    },
    /** An event left that had not entered a queue. */
    forgetUpcoming,
    /** What is remembered may be wrong. */
    forget(): void {
      behind = undefined;
      hasQueued = undefined;
      lasts.clear();
      withoutReady.clear();
      forgetUpcoming();
    },
  };
}

const laneKeyOf = (destination: number, endpoint: Endpoint, urgency: number) =>
  `${destination} ${endpoint} ${urgency}`;

function visitorsOf({ destination, click_id, session_id }: QueuePosition): string[] {
  const visitors: string[] = [];
  if (click_id !== null) visitors.push(`${destination} click ${click_id}`);
  if (session_id !== null) visitors.push(`${destination} session ${session_id}`);
  return visitors;
}
