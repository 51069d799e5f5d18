import type { EventKind, OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { kindsBelow, shedFor } from "../shedding.js";
import type { Destinations } from "./destinations.js";
import type { KnownIds } from "./known-ids.js";
import { isFirst, type Lines, type Placed } from "./lines.js";
import type { Oldest } from "./oldest.js";
import type { Claimed, Dropped } from "./protocol.js";
import { type EventRow, eventOf, sizeOnDisk } from "./rows.js";
import { NOT_READY } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

const COLUMNS = `
  seq, destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, size, history, ready_at,
  claimed_by, pulse`;

export const STATEMENTS = {
  // It lines up later, when there is capacity for it.
  append: `insert into events (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, null, null)`,
  // It lines up at once. At the head of its line it is ready, or, where there is a process to claim it, claimed.
  lineUp: `
    with head (is_first) as materialized (select ${isFirst("?1", "?2", "?6", "?7")})
    insert into events (${COLUMNS})
    select
      ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
      case when is_first and ?13 is null then ?10 else ${NOT_READY} end,
      case when is_first then ?13 end, case when is_first then ?14 end
    from head
    returning ready_at = ${NOT_READY} and claimed_by is null as is_behind`,
  // By both: in a file that was begun anew, another event may be in its place.
  remove: "delete from events where seq = ? and id = ? returning size, click_id, session_id",
  removeOwn: "delete from events where seq = ? and id = ? and claimed_by = ? returning *",
  shed: "delete from events where seq = ? returning *",
  sheddable: `
    select seq, size from events
    where destination = ? and kind = ? and claimed_by is null and seq > ? order by seq limit 1`,
  clicks: `
    select count(*) as number from (
      select 1 from events where destination = ? and kind = 'click' and coalesce(session_id, click_id) = ?
      limit ${CLICKS_OF_A_VISITOR}
    )`,
  oldestClick: `
    select seq, size from events
    where destination = ? and kind = 'click' and coalesce(session_id, click_id) = ? and claimed_by is null
    order by seq limit 1`,
} as const;

// Beyond, each one that lined up would change pages of its own.
const LINED_UP_AT_MOST = 500;

/** What may give way to another event. */
interface Sheddable {
  readonly seq: number;
  readonly size: number;
}

/** What a process marks an event with that it claims. */
export interface Claimer {
  readonly owner: string;
  readonly pulse: number;
}

interface Stored {
  readonly seq: number;
  readonly isClaimed: boolean;
}

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The events that wait or are under way. */
export function createLiveEvents(
  db: Database,
  parts: {
    state: State;
    destinations: Destinations;
    totals: Totals;
    ids: KnownIds;
    lines: Lines;
    oldest: Oldest;
    unreadable: Unreadable;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { state, destinations, totals, ids, lines, oldest, unreadable, maxBytes, drop } = parts;
  const { append, lineUp, remove, removeOwn, shed, sheddable, clicks, oldestClick } = prepareAll(
    db,
    STATEMENTS,
  );

  /** Returns `undefined`, and sheds nothing, where the file is too full for the event. */
  function insert(
    event: OutboxEvent,
    json: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
    claimer?: Claimer,
  ): Stored | undefined {
    const { id, kind, data, createdAt } = event;
    const destination = destinations.numberOf(event.destination);
    if (!makeSpace(event, destination, size, now)) return undefined;
    const { clickId = null, sessionId = null } = data;
    const linesUp = state.isLinedUp && totals.live() < LINED_UP_AT_MOST;
    const seq = state.nextSeq();
    oldest.came(destination, kind, seq, createdAt);
    totals.add(destination, kind, 1, size);
    const endpoint = endpointOf(event);
    const values = [
      ...[seq, destination, id, kind, endpoint, clickId, sessionId, json],
      ...[createdAt, queuedAt, size, history],
    ];
    if (!linesUp) {
      append.run(...values);
      lines.came(destination, kind, seq);
      return { seq, isClaimed: false };
    }
    const isBehind = lineUp.get(...values, claimer?.owner ?? null, claimer?.pulse ?? null).is_behind === 1;
    state.linedUpTo = seq;
    const isClaimed = claimer !== undefined && !isBehind;
    if (!isClaimed) lines.linedUp(isBehind);
    return { seq, isClaimed };
  }

  function makeSpace(event: OutboxEvent, destination: number, size: number, now: number): boolean {
    const { kind } = event;
    const fits = (freed: number) => totals.bytes() - freed + size <= maxBytes;
    const crowded = kind === "click" ? crowdedOut(event, destination) : undefined;
    if (crowded) {
      // One click of a visitor's for another: no other event has to give way to it.
      if (!fits(crowded.size)) return false;
      discard(crowded, "visitor-full", now);
      return true;
    }
    // Even all that gives way would not be enough: no need to look at it.
    if (!fits(totals.bytes(...kindsBelow(kind)))) return false;
    return shedFor(kind, {
      oldestFirst,
      isEnough: (_, freed) => fits(freed),
      shed: (each) => discard(each, "full", now),
    });
  }

  /** The visitor's click that gives way to this one. */
  function crowdedOut({ data }: OutboxEvent, destination: number): Sheddable | undefined {
    if (totals.rows(destination, "click") < CLICKS_OF_A_VISITOR) return undefined;
    const visitor = data.sessionId ?? data.clickId ?? "";
    if (clicks.get(destination, visitor).number < CLICKS_OF_A_VISITOR) return undefined;
    return oldestClick.get(destination, visitor);
  }

  /** The events of a kind that may give way, of all destinations. */
  function* oldestFirst(kind: EventKind): Generator<Sheddable> {
    const own = totals.destinations.filter((each) => totals.rows(each, kind) > 0);
    for (let after = 0; ; ) {
      let first: Sheddable | undefined;
      for (const destination of own) {
        const found: Sheddable | undefined = sheddable.get(destination, kind, after);
        if (found && (!first || found.seq < first.seq)) first = found;
      }
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function discard({ seq }: Sheddable, reason: Dropped["reason"], now: number): void {
    const row: EventRow = shed.get(seq);
    left(row, now);
    ids.forget(row.destination, row.id);
    const event = eventOf(row, destinations.nameOf(row.destination));
    if (event) drop({ event, reason });
    else unreadable.onFound(row.id);
  }

  /** What follows from a row's end: the visitor's next event has its turn. */
  function left(row: Placed & Pick<EventRow, "kind" | "size">, now: number): void {
    const { seq, destination, kind, size } = row;
    oldest.left(destination, kind, seq);
    totals.add(destination, kind, -1, -size);
    lines.leave(row, now);
  }

  return {
    insert,
    /** @param claimer claims it, where it is at the head of its line: whether that came about is told to `onClaimed`. */
    append(
      event: OutboxEvent,
      now: number,
      claimer?: Claimer,
      onClaimed: (seq: number) => void = () => {},
    ): "queued" | "duplicate" | "full" {
      const destination = destinations.numberOf(event.destination);
      if (!ids.learn(destination, event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      const stored = insert(event, json, { queuedAt: event.createdAt, history: null, size }, now, claimer);
      if (stored?.isClaimed) onClaimed(stored.seq);
      if (stored) return "queued";
      ids.forget(destination, event.id);
      return "full";
    },
    /** Takes it out, even if another process has claimed it meanwhile. Returns the number of its destination. */
    remove({ seq, id, kind, destination: name }: Claimed, now: number): number | undefined {
      const row: Pick<EventRow, "size" | "click_id" | "session_id"> | undefined = remove.get(seq, id);
      if (!row) return undefined;
      const destination = destinations.numberOf(name);
      left({ seq, destination, kind, ...row }, now);
      return destination;
    },
    /** Takes it out, unless another process has claimed it meanwhile. */
    removeOwn({ seq, id, owner: by }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = removeOwn.get(seq, id, by);
      if (row) left(row, now);
      return row;
    },
  };
}
