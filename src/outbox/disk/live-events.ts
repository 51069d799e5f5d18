import type { OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { kindsBelow, shedFor } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { Destinations } from "./destinations.js";
import type { Direct, Holdings } from "./holdings.js";
import type { KnownIds } from "./known-ids.js";
import type { Evictable, LetterRows } from "./letter-rows.js";
import type { Lines } from "./lines.js";
import type { Oldest } from "./oldest.js";
import type { Claimed, Dropped } from "./protocol.js";
import type { Removals } from "./removals.js";
import { type EventRow, eventOf, GROUPS, type Placed, rankOf, sizeOnDisk } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

export const STATEMENTS = {
  // It lines up when there is capacity for it.
  append: `
    insert into events (
      seq, destination, id, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, size, history
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // By both: in a file that was begun anew, another event may be in its place.
  remove: "delete from events where seq = ? and id = ? returning size, click_id, session_id",
  removeOwn: "delete from events where seq = ? and id = ? returning *",
  shed: "delete from events where seq = ? returning *",
  sheddable: `
    select seq, size from events
    where destination = ? and urgency = ? and kind = ? and seq > ? and seq not in (select value from json_each(?)) order by seq limit 1`,
  clicks: `
    select count(*) as number from (
      select 1 from events where destination = ? and kind = 'click' and coalesce(session_id, click_id) = ?
      limit ${CLICKS_OF_A_VISITOR}
    )`,
  oldestClicks: `
    select seq, size from events
    where destination = ? and kind = 'click' and coalesce(session_id, click_id) = ? order by seq`,
} as const;

// More than come, so that they are all lined up long before the file is full.
const LINED_UP_WITH_EACH = 16;
const LAST = Number.MAX_SAFE_INTEGER;

/** What may give way to another event. */
interface Sheddable {
  readonly seq: number;
  readonly size: number;
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
    holdings: Holdings;
    removals: Removals;
    lines: Lines;
    oldest: Oldest;
    unreadable: Unreadable;
    letters: LetterRows;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { state, destinations, totals, ids, holdings, removals, lines, oldest } = parts;
  const { unreadable, letters, maxBytes, drop } = parts;
  const { append, remove, removeOwn, shed, sheddable, clicks, oldestClicks } = prepareAll(db, STATEMENTS);

  /** Returns `undefined`, and sheds nothing, where the file is too full for the event. */
  function insert(
    event: OutboxEvent,
    json: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): Direct | undefined {
    const { id, kind, createdAt } = event;
    const destination = destinations.numberOf(event.destination);
    if (!makeSpace(event, destination, size, now)) return undefined;
    const { click_id, session_id } = idsOf(event);
    const seq = state.nextSeq();
    oldest.came(destination, kind, seq, createdAt);
    totals.add(destination, kind, 1, size);
    const endpoint = endpointOf(event);
    append.run(
      ...[seq, destination, id, kind, endpoint, rankOf(kind), click_id, session_id, json],
      ...[createdAt, queuedAt, size, history],
    );
    lines.came(destination, kind, seq);
    return { seq, destination, id, kind, click_id, session_id, created_at: createdAt, size };
  }

  function makeSpace(event: OutboxEvent, destination: number, size: number, now: number): boolean {
    const { kind } = event;
    const fits = (freed: number) => totals.bytes() - freed + size <= maxBytes;
    // How urgent an event is, is known of what has lined up: all has by the time that the file is full.
    if (totals.bytes() > maxBytes / 2) lines.lineUp(LINED_UP_WITH_EACH, now);
    const crowded = kind === "click" ? crowdedOut(event, destination) : undefined;
    if (crowded) {
      // One click of a visitor's for another: no other event has to give way to it.
      if (!fits(crowded.size)) return false;
      discard(crowded, "visitor-full", now);
      return true;
    }
    // Even all that gives way would not be enough: no need to look at it.
    const below = kindsBelow(kind);
    if (!fits(totals.bytes(...below) + letters.bytes([...below, kind]))) return false;
    if (!fits(0)) {
      removals.run();
      lines.lineUp(Number.POSITIVE_INFINITY, now);
      if (kind !== "click")
        lines.raise({ ...idsOf(event), destination, seq: LAST, urgency: rankOf(kind) }, now);
    }
    return shedFor<Sheddable | Evictable>(kind, {
      oldestFirst,
      dead: letters.oldestFirst,
      isEnough: (_, freed) => fits(freed),
      shed: (each) => ("isLetter" in each ? letters.evict(each) : discard(each, "full", now)),
    });
  }

  /** The visitor's click that gives way to this one. */
  function crowdedOut({ data }: OutboxEvent, destination: number): Sheddable | undefined {
    if (totals.rows(destination, "click") < CLICKS_OF_A_VISITOR) return undefined;
    removals.run();
    const visitor = data.sessionId ?? data.clickId ?? "";
    if (clicks.get(destination, visitor).number < CLICKS_OF_A_VISITOR) return undefined;
    const own: Sheddable[] = oldestClicks.all(destination, visitor);
    return own.find(({ seq }) => holdings.ownerOf(seq) === undefined);
  }

  /** The events that are so urgent, and may give way, of all destinations. */
  function* oldestFirst(urgency: Urgency): Generator<Sheddable> {
    const own = totals.destinations.flatMap((destination) =>
      GROUPS.filter(({ rank, kind }) => rank === rankOf(urgency) && totals.rows(destination, kind) > 0).map(
        (group) => ({ ...group, destination }),
      ),
    );
    const claimed = JSON.stringify(holdings.places());
    for (let after = 0; ; ) {
      let first: Sheddable | undefined;
      for (const { destination, rank, kind } of own) {
        const found: Sheddable | undefined = sheddable.get(destination, rank, kind, after, claimed);
        if (found && (!first || found.seq < first.seq)) first = found;
      }
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function takeOut(seq: number, now: number): EventRow {
    const row: EventRow = shed.get(seq);
    holdings.remove(seq);
    lines.forgetUpcoming();
    left(row, now);
    return row;
  }

  function discard({ seq }: Sheddable, reason: Dropped["reason"], now: number): void {
    const row = takeOut(seq, now);
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
    /** Takes out what is there, claimed or not. */
    takeOut,
    /** @param claim is called where it may be claimed at once: no event waits that came before it, and it is behind no other. */
    append(
      event: OutboxEvent,
      now: number,
      claim?: (direct: Direct) => void,
    ): "queued" | "duplicate" | "full" {
      const destination = destinations.numberOf(event.destination);
      if (!ids.learn(destination, event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      const isNext = state.isLinedUp;
      const stored = insert(event, json, { queuedAt: event.createdAt, history: null, size }, now);
      if (!stored) {
        ids.forget(destination, event.id);
        return "full";
      }
      if (claim && isNext && !lines.isBehind(stored)) {
        state.linedUpTo = stored.seq;
        claim(stored);
      }
      return "queued";
    },
    /** Takes out what was claimed before it was lined up, and delivered. Returns whether it was. */
    removeLater(seq: number, id: string, now: number): boolean {
      const direct = holdings.directAt(seq);
      if (direct?.id !== id) return false;
      holdings.remove(seq);
      removals.add(direct);
      left(direct, now);
      return true;
    },
    /** Takes it out, even if another process has claimed it meanwhile. Returns the number of its destination. */
    remove({ seq, id, kind, destination: name }: Claimed, now: number): number | undefined {
      const row: Pick<EventRow, "size" | "click_id" | "session_id"> | undefined = remove.get(seq, id);
      if (!row) return undefined;
      holdings.remove(seq);
      const destination = destinations.numberOf(name);
      left({ seq, destination, kind, ...row }, now);
      return destination;
    },
    /** Takes it out, unless another process has claimed it meanwhile. */
    removeOwn({ seq, id, owner: by }: Claimed, now: number): EventRow | undefined {
      if (holdings.ownerOf(seq) !== by) return undefined;
      const row: EventRow | undefined = removeOwn.get(seq, id);
      if (!row) return undefined;
      holdings.remove(seq);
      left(row, now);
      return row;
    },
  };
}

function idsOf({ data }: OutboxEvent): Pick<Placed, "click_id" | "session_id"> {
  return { click_id: data.clickId ?? null, session_id: data.sessionId ?? null };
}
