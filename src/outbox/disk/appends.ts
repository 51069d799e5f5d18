import { notBeforeOf, type OutboxEvent } from "../../events.js";
import { priorityOf, raisesOthers } from "../../kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { kindsBelow, shedFor } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Evictable, Letters } from "./letters.js";
import type { LiveEvents } from "./live-events.js";
import type { Dropped } from "./protocol.js";
import type { Queues } from "./queues.js";
import { eventFromRow, GROUPS, type QueuePosition, sizeOnDisk } from "./rows.js";
import type { Scheduled } from "./scheduled.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
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

// More than come, so that all have entered their queues long before the file is full.
const ENTERED_WITH_EACH = 16;
const LAST = Number.MAX_SAFE_INTEGER;

/** A live event that may be shed. */
interface SheddableRow {
  readonly seq: number;
  readonly size: number;
}

export type Appends = ReturnType<typeof createAppends>;

/** Stores events. Where the file is full, less important ones make space. */
export function createAppends(
  db: Database,
  parts: {
    cache: Cache;
    ids: KnownIds;
    queues: Queues;
    letters: Letters;
    live: LiveEvents;
    scheduled: Scheduled;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
    onUnreadable: (id: string) => void;
  },
) {
  const { cache, ids, queues, letters, live, scheduled, maxBytes, drop, onUnreadable } = parts;
  const { sheddable, clicks, oldestClicks } = prepareAll(db, STATEMENTS);

  /** Returns `false`, and sheds nothing, where the file is too full for the event. */
  function insert(
    event: OutboxEvent,
    data: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): boolean {
    const { id, kind, createdAt } = event;
    const destination = event.destination;
    if (!makeSpace(event, destination, size, now)) return false;
    // Written out: spreading objects costs more than storing the row.
    live.put({
      event,
      seq: cache.known.nextSeq(),
      destination,
      id,
      kind,
      endpoint: endpointOf(event),
      urgency: priorityOf(kind),
      click_id: event.data.clickId ?? null,
      session_id: event.data.sessionId ?? null,
      data,
      created_at: createdAt,
      queued_at: queuedAt,
      size,
      history,
      interrupted: 0,
    });
    return true;
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
      live.removeDelivered();
      queues.enter(Number.POSITIVE_INFINITY, now);
      if (raisesOthers(kind) && (notBeforeOf(event) ?? 0) <= now)
        queues.raise({ ...idsOf(event), destination, seq: LAST, urgency: priorityOf(kind) }, now);
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
    live.removeDelivered();
    const visitor = data.sessionId ?? data.clickId ?? "";
    if (clicks.get(destination, visitor).number < CLICKS_OF_A_VISITOR) return undefined;
    const own: SheddableRow[] = oldestClicks.all(destination, visitor);
    return own.find(({ seq }) => claims.ownerOf(seq) === undefined);
  }

  /** The events of this urgency that may be shed, of all destinations. */
  function* oldestFirst(urgency: Urgency): Generator<SheddableRow> {
    const { totals, claims } = cache.known;
    const own = totals.destinations.flatMap((destination) =>
      GROUPS.filter(
        ({ rank, kind }) => rank === priorityOf(urgency) && totals.rows(destination, kind) > 0,
      ).map(({ kind }) => [destination, priorityOf(urgency), kind] as const),
    );
    const claimed = JSON.stringify(claims.seqs());
    for (let after = 0; ; ) {
      const found: SheddableRow[] = own.flatMap((group) => sheddable.get(...group, after, claimed) ?? []);
      const first = found.sort((a, b) => a.seq - b.seq)[0];
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function discard({ seq }: SheddableRow, reason: Dropped["reason"], now: number): void {
    const row = live.takeOut(seq, now);
    ids.forget(row.destination, row.id);
    const event = eventFromRow(row, row.destination);
    if (event) drop({ event, reason });
    else onUnreadable(row.id);
  }

  return {
    insert,
    append(event: OutboxEvent, now: number): "queued" | "duplicate" | "full" {
      const destination = event.destination;
      if (!ids.learn(destination, event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      const notBefore = notBeforeOf(event);
      if (notBefore !== undefined && notBefore > now) {
        if (makeSpace(event, destination, size, now)) {
          const { id, createdAt } = event;
          scheduled.put({ destination, id, not_before: notBefore, created_at: createdAt, size, data: json });
          return "queued";
        }
      } else if (insert(event, json, { queuedAt: event.createdAt, history: null, size }, now))
        return "queued";
      ids.forget(destination, event.id);
      return "full";
    },
  };
}

function idsOf({ data }: OutboxEvent): Pick<QueuePosition, "click_id" | "session_id"> {
  return { click_id: data.clickId ?? null, session_id: data.sessionId ?? null };
}
