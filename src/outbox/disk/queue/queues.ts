import type { EventKind } from "../../../conversion/events.js";
import { isInheritable, priorityOf } from "../../../conversion/kinds.js";
import { objectFromJson } from "../../../shared/json.js";
import type { History } from "../../claim.js";
import type { Cache } from "./cache.js";
import {
  kindKeyOf,
  laneKeyOf,
  NEW_COLUMNS,
  type NewRow,
  type QueuedRow,
  type QueuePosition,
} from "./rows.js";

/** Whether no queue has an earlier event with one of this event's ids. */
const isFirst = (seq: string, destination: string, clickId: string, sessionId: string) => `
  not exists (
    select 1 from events as earlier where earlier.state <> 'new'
    and earlier.destination = ${destination} and earlier.click_id = ${clickId} and earlier.seq < ${seq}
  ) and not exists (
    select 1 from events as earlier where earlier.state <> 'new'
    and earlier.destination = ${destination} and earlier.session_id = ${sessionId} and earlier.seq < ${seq}
  )`;

const headOf = (id: "click_id" | "session_id", value: string) => `
  (select seq from events where state <> 'new' and destination = ?1 and ${id} = ${value} order by seq limit 1)`;

// In a queue, each event is at least as urgent as those behind: if the one just before is, all are.
const lastBefore = (id: "click_id" | "session_id") => `(
        select seq from events as earlier where state <> 'new'
        and destination = ?2 and earlier.${id} = ahead.${id} and earlier.seq < ahead.seq order by seq desc limit 1
      )`;

const some = "select value from json_each(?2)";

export const STATEMENTS = {
  next: `select ${NEW_COLUMNS} from events where seq > ? and state = 'new' order by seq limit ?`,
  // An event in no queue is as urgent as its kind.
  last: `
    select seq from events where destination = ? and urgency = ? and kind = ? and seq > ? order by seq desc limit 1`,
  first: `select ${isFirst("?1", "?2", "?3", "?4")} as first`,
  enter: `update events set state = ?1, ready_at = queued_at where seq in (${some})`,
  heads: `
    select seq, destination, endpoint, urgency, click_id, session_id, history from events
    where seq in (${headOf("click_id", "?2")}, ${headOf("session_id", "?3")}) and state = 'behind'
    and ${isFirst("events.seq", "events.destination", "events.click_id", "events.session_id")}`,
  promote: "update events set state = ?, ready_at = ? where seq = ?",
  anyBehind: `select 1 from events where state = 'behind' limit 1`,
  anyQueued: `
    select
      exists (select 1 from events indexed by events_by_click where state <> 'new' and click_id is not null)
      or exists (select 1 from events indexed by events_by_session where state <> 'new' and session_id is not null)
      as any`,
  raise: `
    with recursive ahead (seq, click_id, session_id) as (
      values (?1, ?3, ?4)
      union
      select events.seq, events.click_id, events.session_id from ahead join events
      on events.seq in (${lastBefore("click_id")}, ${lastBefore("session_id")}) and events.urgency < ?5
    )
    update events
    set urgency = ?5, ready_at = case when state = 'ready' then ?6 else ready_at end
    where seq in (select seq from ahead where seq <> ?1)
    returning seq, destination, endpoint, urgency, click_id, session_id`,
  raiseArrivals: `update events set urgency = ?1 where seq in (${some}) and urgency < ?1`,
} as const;

// If other processes write, rows read ahead are soon useless.
const READ_AT_ONCE = 64;
// So many events that this process stored are known without a read.
const MOST_UPCOMING = 256;

export type Queues = ReturnType<typeof createQueues>;

/**
 * In its visitor's queue, an event waits for every earlier one of its destination that shares its
 * click id or its session id.
 *
 * - The queues are in the file, so any process may claim any event. A process that is killed,
 *   stands still, or is refused by the service delays only what it has claimed.
 * - An event enters its visitor's queue only when there is capacity for it. Until then it lies in
 *   the order of arrival, which costs the same however many wait. An event that is claimed on
 *   arrival enters no queue.
 */
export function createQueues(cache: Cache) {
  const { next, last, first, enter, heads, promote, anyBehind, anyQueued, ...raising } =
    cache.prepare(STATEMENTS);
  /** What is known of the queues, so that no statement asks again. */
  const notes = cache.lookedUp(() => ({
    /** Whether an event may wait behind another in a queue. */
    anyBehind: undefined as boolean | undefined,
    /** Whether any queue may hold an event. */
    anyQueued: undefined as boolean | undefined,
    /** By destination: whether an event may have been tried. */
    anyTried: new Map<number, boolean>(),
    /** Destinations, endpoints and urgencies without an untried event that is ready. */
    withoutReady: new Set<string>(),
    /** The next events to enter a queue. */
    upcoming: [] as NewRow[],
    /** By destination and kind: the last event that has entered no queue. */
    lastNew: new Map<string, number>(),
  }));

  function takeNext(): NewRow | undefined {
    const { known } = cache;
    if (known.haveAllEntered) return undefined;
    const own = notes();
    if (own.upcoming.length === 0) own.upcoming = next.all(known.enteredUpTo, READ_AT_ONCE);
    const event = own.upcoming.shift();
    // If there is none, the last ones were shed, or saved from a lost file with their claims.
    known.enteredUpTo = event?.seq ?? known.lastSeq;
    return event;
  }

  function isBehind({ seq, destination, click_id, session_id }: QueuePosition): boolean {
    const { known } = cache;
    if (known.claims.aheadOf({ destination, click_id, session_id }).length > 0) return true;
    const own = notes();
    own.anyQueued ??= anyQueued.get().any === 1;
    return own.anyQueued && first.get(seq, destination, click_id, session_id).first === 0;
  }

  /** The head of a queue has become ready, or more urgent. */
  function noteReady(row: Pick<QueuedRow, "destination" | "endpoint" | "urgency">): void {
    const own = notes();
    own.anyQueued = true;
    own.withoutReady.delete(laneKeyOf(row.destination, row.endpoint, row.urgency));
  }

  /**
   * Makes all events that one waits for, directly or not, inherit its priority, claimed ones too.
   * Looks at two more than it changes. All events before it must be in their queues.
   */
  function raise(event: Omit<QueuedRow, "endpoint">, now: number): void {
    const { known } = cache;
    const { seq, destination, click_id, session_id, urgency } = event;
    const raised: QueuedRow[] = raising.raise.all(seq, destination, click_id, session_id, urgency, now);
    const arrivals = known.claims.aheadOf(event, ...raised).map((each) => each.seq);
    if (arrivals.length > 0) raising.raiseArrivals.run(urgency, JSON.stringify(arrivals));
    for (const each of raised) noteReady(each);
  }

  function enterAs(state: "behind" | "ready" | "tried", events: readonly NewRow[]): void {
    if (events.length > 0) enter.run(state, JSON.stringify(events.map(({ seq }) => seq)));
  }

  function enterAsHeads(events: readonly NewRow[]): void {
    const { anyTried } = notes();
    const tried = events.filter(({ history }) => wasTried(history));
    enterAs("tried", tried);
    enterAs("ready", tried.length === 0 ? events : events.filter((event) => !tried.includes(event)));
    for (const { destination } of tried) anyTried.set(destination, true);
    for (const event of events) noteReady(event);
  }

  return {
    notes,
    isBehind,
    enterAsHeads,
    raise,
    noteReady,
    append(event: NewRow): void {
      const { upcoming, lastNew } = notes();
      const isNext = (upcoming.at(-1)?.seq ?? cache.known.enteredUpTo) === event.seq - 1;
      if (isNext && upcoming.length < MOST_UPCOMING) upcoming.push(event);
      lastNew.set(kindKeyOf(event.destination, event.kind), event.seq);
    },
    /**
     * Moves the next events into their visitors' queues, until there are enough, or `most` were
     * looked at. The events before them inherit their priority. `take` claims an event that waits
     * for no other, and returns whether it did.
     */
    enter(
      most: number,
      now: number,
      take: (event: NewRow) => boolean = () => false,
      areEnough: () => boolean = () => false,
    ): void {
      const visitors = new Set<string>();
      const behind: NewRow[] = [];
      const heads: NewRow[] = [];
      for (let looked = 0; looked < most && !areEnough(); looked++) {
        const event = takeNext();
        if (!event) break;
        const own = visitorsOf(event);
        if (own.some((each) => visitors.has(each)) || isBehind(event)) behind.push(event);
        else if (take(event)) continue;
        else heads.push(event);
        for (const each of own) visitors.add(each);
      }
      enterAs("behind", behind);
      enterAsHeads(heads);
      const own = notes();
      if (behind.length > 0) own.anyQueued = own.anyBehind = true;
      for (const event of behind) if (isInheritable(event.kind)) raise(event, now);
    },
    /** An event has left: new heads are ready. */
    leave({ destination, click_id, session_id }: Omit<QueuePosition, "seq">, now: number): void {
      const { known } = cache;
      const own = notes();
      if (own.anyQueued) own.anyQueued = undefined;
      own.anyBehind ??= !known.totals.isEmpty && anyBehind.get() !== undefined;
      if (!own.anyBehind) return;
      for (const head of heads.all(destination, click_id, session_id) as (QueuedRow &
        Pick<NewRow, "history">)[]) {
        if (known.claims.aheadOf(head).length > 0) continue;
        promote.run(wasTried(head.history) ? "tried" : "ready", now, head.seq);
        noteReady(head);
        own.anyTried.delete(destination);
        own.anyBehind = undefined;
      }
    },
    /** Any event may have left: the next ones to enter a queue are read again. */
    forgetUpcoming(): void {
      notes().upcoming = [];
    },
    /** Whether some of this destination and kind have entered no queue. */
    hasMore(destination: number, kind: EventKind): boolean {
      const { enteredUpTo, haveAllEntered } = cache.known;
      if (haveAllEntered) return false;
      const { lastNew } = notes();
      const key = kindKeyOf(destination, kind);
      const seq = lastNew.get(key) ?? last.get(destination, priorityOf(kind), kind, enteredUpTo)?.seq ?? 0;
      lastNew.set(key, seq);
      return seq > enteredUpTo;
    },
  };
}

/** Whether it was tried in another file, or for another destination. */
function wasTried(history: string | null): boolean {
  return history !== null && ((objectFromJson(history) as History | undefined)?.triedAt ?? 0) > 0;
}

function visitorsOf({ destination, click_id, session_id }: QueuePosition): string[] {
  const visitors: string[] = [];
  if (click_id !== null) visitors.push(`${destination} click ${click_id}`);
  if (session_id !== null) visitors.push(`${destination} session ${session_id}`);
  return visitors;
}
