import type { OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { kindsBelow, shedFor } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { ClaimedOnArrival, ClaimOwners } from "./claim-owners.js";
import type { Destinations } from "./destinations.js";
import type { KnownIds } from "./known-ids.js";
import type { Evictable, LetterRows } from "./letter-rows.js";
import type { Oldest } from "./oldest.js";
import type { Claimed, Dropped } from "./protocol.js";
import type { Removals } from "./removals.js";
import { type EventRow, eventFromRow, GROUPS, type QueuePosition, rankOf, sizeOnDisk } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";
import type { VisitorQueues } from "./visitor-queues.js";

export const STATEMENTS = {
  // It enters its visitor's queue when there is capacity for it.
  append: `
    insert into events (
      seq, destination, id, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, size, history
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // By both: in a new file, another event may have this sequence number.
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
    state: State;
    destinations: Destinations;
    totals: Totals;
    ids: KnownIds;
    owners: ClaimOwners;
    removals: Removals;
    queues: VisitorQueues;
    oldest: Oldest;
    unreadable: Unreadable;
    letters: LetterRows;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { state, destinations, totals, ids, owners, removals, queues, oldest } = parts;
  const { unreadable, letters, maxBytes, drop } = parts;
  const { append, remove, removeOwn, shed, sheddable, clicks, oldestClicks } = prepareAll(db, STATEMENTS);

  /** Returns `undefined`, and sheds nothing, where the file is too full for the event. */
  function insert(
    event: OutboxEvent,
    json: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): ClaimedOnArrival | undefined {
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
    queues.noteAppended(destination, kind, seq);
    return { seq, destination, id, kind, click_id, session_id, created_at: createdAt, size };
  }

  function makeSpace(event: OutboxEvent, destination: number, size: number, now: number): boolean {
    const { kind } = event;
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
      removals.run();
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
    if (totals.rows(destination, "click") < CLICKS_OF_A_VISITOR) return undefined;
    removals.run();
    const visitor = data.sessionId ?? data.clickId ?? "";
    if (clicks.get(destination, visitor).number < CLICKS_OF_A_VISITOR) return undefined;
    const own: SheddableRow[] = oldestClicks.all(destination, visitor);
    return own.find(({ seq }) => owners.ownerOf(seq) === undefined);
  }

  /** The events of this urgency that may be shed, of all destinations. */
  function* oldestFirst(urgency: Urgency): Generator<SheddableRow> {
    const own = totals.destinations.flatMap((destination) =>
      GROUPS.filter(({ rank, kind }) => rank === rankOf(urgency) && totals.rows(destination, kind) > 0).map(
        (group) => ({ ...group, destination }),
      ),
    );
    const claimed = JSON.stringify(owners.seqs());
    for (let after = 0; ; ) {
      let first: SheddableRow | undefined;
      for (const { destination, rank, kind } of own) {
        const found: SheddableRow | undefined = sheddable.get(destination, rank, kind, after, claimed);
        if (found && (!first || found.seq < first.seq)) first = found;
      }
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function takeOut(seq: number, now: number): EventRow {
    const row: EventRow = shed.get(seq);
    owners.remove(seq);
    queues.forgetUpcoming();
    left(row, now);
    return row;
  }

  function discard({ seq }: SheddableRow, reason: Dropped["reason"], now: number): void {
    const row = takeOut(seq, now);
    ids.forget(row.destination, row.id);
    const event = eventFromRow(row, destinations.nameOf(row.destination));
    if (event) drop({ event, reason });
    else unreadable.onFound(row.id);
  }

  /** Counts a deleted row out: the visitor's next event becomes the head of the queue. */
  function left(row: QueuePosition & Pick<EventRow, "kind" | "size">, now: number): void {
    const { seq, destination, kind, size } = row;
    oldest.left(destination, kind, seq);
    totals.add(destination, kind, -1, -size);
    queues.leave(row, now);
  }

  return {
    insert,
    /** Deletes the event, claimed or not. */
    takeOut,
    /** @param claim called if the event may be claimed on arrival: all earlier ones have entered a queue, and it waits for none. */
    append(
      event: OutboxEvent,
      now: number,
      claim?: (direct: ClaimedOnArrival) => void,
    ): "queued" | "duplicate" | "full" {
      const destination = destinations.numberOf(event.destination);
      if (!ids.learn(destination, event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      const isNext = state.haveAllEntered;
      const stored = insert(event, json, { queuedAt: event.createdAt, history: null, size }, now);
      if (!stored) {
        ids.forget(destination, event.id);
        return "full";
      }
      if (claim && isNext && !queues.isBehind(stored)) {
        state.enteredUpTo = stored.seq;
        claim(stored);
      }
      return "queued";
    },
    /** Counts a delivered event out if it was claimed on arrival; its row is deleted later. Returns whether it was. */
    removeLater(seq: number, id: string, now: number): boolean {
      const direct = owners.onArrivalAt(seq);
      if (direct?.id !== id) return false;
      owners.remove(seq);
      removals.add(direct);
      left(direct, now);
      return true;
    },
    /** Deletes it, even if another process has claimed it meanwhile. Returns the number of its destination. */
    remove({ seq, id, kind, destination: name }: Claimed, now: number): number | undefined {
      const row: Pick<EventRow, "size" | "click_id" | "session_id"> | undefined = remove.get(seq, id);
      if (!row) return undefined;
      owners.remove(seq);
      const destination = destinations.numberOf(name);
      left({ seq, destination, kind, ...row }, now);
      return destination;
    },
    /** Deletes it, unless another process has claimed it meanwhile. */
    removeOwn({ seq, id, owner: by }: Claimed, now: number): EventRow | undefined {
      if (owners.ownerOf(seq) !== by) return undefined;
      const row: EventRow | undefined = removeOwn.get(seq, id);
      if (!row) return undefined;
      owners.remove(seq);
      left(row, now);
      return row;
    },
  };
}

function idsOf({ data }: OutboxEvent): Pick<QueuePosition, "click_id" | "session_id"> {
  return { click_id: data.clickId ?? null, session_id: data.sessionId ?? null };
}
