import type { OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { kindsBelow, shedFor } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Evictable, Letters } from "./letters.js";
import type { Claimed, Dropped } from "./protocol.js";
import { kindKeyOf, type Queues } from "./queues.js";
import {
  type EventRow,
  eventFromRow,
  GROUPS,
  type NewRow,
  type QueuePosition,
  rankOf,
  sizeOnDisk,
} from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  // It enters its visitor's queue when there is capacity for it.
  append: `
    insert into events (
      seq, destination, id, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, size, history
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // By both: in a new file, another event may have this sequence number.
  remove: "delete from events where seq = ? and id = ? returning *",
  take: "delete from events where seq = ? returning *",
  removeAll: "delete from events where seq in (select value from json_each(?))",
  keepUnreadable: `
    insert into unreadable (destination, id, kind, data, created_at, history, found_at) values (?, ?, ?, ?, ?, ?, ?)`,
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

// Deleted one by one, each row would change its page anew. Deleted together, each page changes once.
const ROWS_AT_ONCE = 256;
const BYTES_AT_ONCE = 128 * 1024;
const SHARE_OF_DELIVERED = 0.02;
// More than come, so that all have entered their queues long before the file is full.
const ENTERED_WITH_EACH = 16;
const LAST = Number.MAX_SAFE_INTEGER;

/** A live event that may be shed. */
interface SheddableRow {
  readonly seq: number;
  readonly size: number;
}

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The events that wait or are under way. */
export function createLiveEvents(
  db: Database,
  parts: {
    cache: Cache;
    ids: KnownIds;
    queues: Queues;
    letters: Letters;
    maxFileBytes: number;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
    onUnreadable: (id: string) => void;
  },
) {
  const { cache, ids, queues, letters, maxBytes, drop, onUnreadable } = parts;
  const { append, remove, take, removeAll, keepUnreadable, ...shedding } = prepareAll(db, STATEMENTS);
  const bytesAtOnce = Math.min(BYTES_AT_ONCE, parts.maxFileBytes * SHARE_OF_DELIVERED);

  /** Returns `undefined`, and sheds nothing, where the file is too full for the event. */
  function insert(
    event: OutboxEvent,
    data: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): NewRow | undefined {
    const { id, kind, createdAt } = event;
    const { known } = cache;
    const destination = cache.numberOf(event.destination);
    if (!makeSpace(event, destination, size, now)) return undefined;
    const [seq, endpoint, urgency] = [known.nextSeq(), endpointOf(event), rankOf(kind)];
    const { click_id, session_id } = idsOf(event);
    append.run(
      ...[seq, destination, id, kind, endpoint, urgency, click_id, session_id, data],
      ...[createdAt, queuedAt, size, history],
    );
    if (known.totals.rows(destination, kind) === 0)
      known.oldest.set(kindKeyOf(destination, kind), { seq, created_at: createdAt });
    known.totals.add(destination, kind, 1, size);
    // Written out: spreading objects costs more than storing the row.
    const row: NewRow = {
      event,
      seq,
      destination,
      id,
      kind,
      endpoint,
      urgency,
      click_id,
      session_id,
      data,
      created_at: createdAt,
      queued_at: queuedAt,
      size,
      history,
      interrupted: 0,
    };
    queues.append(row);
    return row;
  }

  function makeSpace(event: OutboxEvent, destination: number, size: number, now: number): boolean {
    const { kind } = event;
    const { totals } = cache.known;
    const fits = (freed: number) => totals.bytes() - freed + size <= maxBytes;
    // An event in a queue has its full urgency. By the time that the file is full, all are in a queue.
    if (totals.bytes() > maxBytes / 2) queues.enter(ENTERED_WITH_EACH, now);
    const crowded = kind === "click" ? clickToShed(event, destination) : undefined;
    if (crowded) {
      // The new click replaces an old one of its visitor: no other event is shed for it.
      if (!fits(crowded.size)) return false;
      discard(crowded, "visitor-full", now);
      return true;
    }
    // Not enough even if all of these were shed: no need to look for them.
    const below = kindsBelow(kind);
    if (!fits(totals.bytes(...below) + letters.bytes([...below, kind]))) return false;
    if (!fits(0)) {
      removeDelivered();
      queues.enter(Number.POSITIVE_INFINITY, now);
      if (kind !== "click")
        queues.raise({ ...idsOf(event), destination, seq: LAST, urgency: rankOf(kind) }, now);
    }
    return shedFor<SheddableRow | Evictable>(kind, {
      oldestFirst,
      dead: letters.oldestFirst,
      isEnough: (_, freed) => fits(freed),
      shed: (each) => ("isLetter" in each ? letters.evict(each) : discard(each, "full", now)),
    });
  }

  /** The visitor's click to shed for this one. */
  function clickToShed({ data }: OutboxEvent, destination: number): SheddableRow | undefined {
    const { totals, claims } = cache.known;
    if (totals.rows(destination, "click") < CLICKS_OF_A_VISITOR) return undefined;
    removeDelivered();
    const visitor = data.sessionId ?? data.clickId ?? "";
    if (shedding.clicks.get(destination, visitor).number < CLICKS_OF_A_VISITOR) return undefined;
    const own: SheddableRow[] = shedding.oldestClicks.all(destination, visitor);
    return own.find(({ seq }) => claims.ownerOf(seq) === undefined);
  }

  /** The events of this urgency that may be shed, of all destinations. */
  function* oldestFirst(urgency: Urgency): Generator<SheddableRow> {
    const { totals, claims } = cache.known;
    const own = totals.destinations.flatMap((destination) =>
      GROUPS.filter(({ rank, kind }) => rank === rankOf(urgency) && totals.rows(destination, kind) > 0).map(
        ({ kind }) => [destination, rankOf(urgency), kind] as const,
      ),
    );
    const claimed = JSON.stringify(claims.seqs());
    for (let after = 0; ; ) {
      const found: SheddableRow[] = own.flatMap(
        (group) => shedding.sheddable.get(...group, after, claimed) ?? [],
      );
      const first = found.sort((a, b) => a.seq - b.seq)[0];
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function discard({ seq }: SheddableRow, reason: Dropped["reason"], now: number): void {
    const row = takeOut(seq, now);
    ids.forget(row.destination, row.id);
    const event = eventFromRow(row, cache.nameOf(row.destination));
    if (event) drop({ event, reason });
    else onUnreadable(row.id);
  }

  function takeOut(seq: number, now: number): EventRow {
    const row: EventRow = take.get(seq);
    // It may be one of them.
    cache.known.upcoming = [];
    countOut(row, now);
    return row;
  }

  /** The event is no longer live: its visitor's next event becomes the head of the queue. */
  function countOut(row: QueuePosition & Pick<EventRow, "kind" | "size">, now: number): void {
    const { seq, destination, kind, size } = row;
    const { claims, totals, oldest, noneUpTo } = cache.known;
    claims.remove(seq);
    totals.add(destination, kind, -1, -size);
    const key = kindKeyOf(destination, kind);
    if (oldest.get(key)?.seq === seq) {
      oldest.delete(key);
      noneUpTo.set(key, seq);
    }
    queues.leave(row, now);
  }

  function removeDelivered(): void {
    const { known } = cache;
    if (known.delivered.size === 0) return;
    const seqs = JSON.stringify([...known.delivered]);
    ids.keepAllDelivered(seqs);
    removeAll.run(seqs);
    known.delivered.clear();
    known.deliveredBytes = 0;
  }

  return {
    insert,
    /** Deletes the event, claimed or not. */
    takeOut,
    removeDelivered,
    /** Deletes delivered events whose rows are still there, if there are many, or nothing is under way. */
    removeDeliveredIfDue(): void {
      const { claims, delivered, deliveredBytes } = cache.known;
      if (delivered.size >= ROWS_AT_ONCE || deliveredBytes >= bytesAtOnce || claims.seqs().length === 0)
        removeDelivered();
    },
    append(event: OutboxEvent, now: number): "queued" | "duplicate" | "full" {
      const destination = cache.numberOf(event.destination);
      if (!ids.learn(destination, event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      if (insert(event, json, { queuedAt: event.createdAt, history: null, size }, now)) return "queued";
      ids.forget(destination, event.id);
      return "full";
    },
    /** The event is delivered, even if another process has claimed it meanwhile. Returns whether it was live. */
    deliver({ seq, id }: Claimed, now: number): boolean {
      const { known } = cache;
      const arrival = known.claims.onArrival(seq);
      if (arrival?.id === id) {
        // In no queue, so its row can be deleted later.
        known.delivered.add(seq);
        known.deliveredBytes += arrival.size;
        ids.countDelivered(arrival.destination, arrival.kind);
        countOut(arrival, now);
        return true;
      }
      const row: EventRow | undefined = remove.get(seq, id);
      if (!row) return false;
      countOut(row, now);
      ids.keepDelivered(row.destination, row.kind, id);
      return true;
    },
    /** Deletes it, unless another process has claimed it meanwhile. */
    removeOwn({ seq, id, owner }: Claimed, now: number): EventRow | undefined {
      if (cache.known.claims.ownerOf(seq) !== owner) return undefined;
      const row: EventRow | undefined = remove.get(seq, id);
      if (row) countOut(row, now);
      return row;
    },
    /** Sets an event aside for a person to look at: its row cannot be read. */
    setAside(seq: number, now: number): void {
      const { destination, id, kind, data, created_at, history } = takeOut(seq, now);
      keepUnreadable.run(destination, id, kind, data, created_at, history, now);
      onUnreadable(id);
    },
  };
}

function idsOf({ data }: OutboxEvent): Pick<QueuePosition, "click_id" | "session_id"> {
  return { click_id: data.clickId ?? null, session_id: data.sessionId ?? null };
}
