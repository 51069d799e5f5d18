import { notBeforeOf, type OutboxEvent } from "../../../conversion/events.js";
import { isInheritable, LEAST_URGENT_FIRST, priorityOf } from "../../../conversion/kinds.js";
import { endpointOf } from "../../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../../outbox.js";
import { kindsBelow, shedFor } from "../../shedding.js";
import type { Urgency } from "../../urgency.js";
import { eventFromRow, inOrder, type LetterRow, sizeOfWords } from "./rows.js";
import type { Tables } from "./tables.js";

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

// So many enter with each new event that all have entered long before the file is full.
const ENTERED_WITH_EACH = 16;
const LAST = Number.MAX_SAFE_INTEGER;

interface SheddableRow {
  readonly seq: number;
  readonly size: number;
  readonly isLetter?: true;
}

export type Appends = ReturnType<typeof createAppends>;

/** Stores events. If the file is full, sheds less important ones to make space. */
export function createAppends({ cache, ids, queues, letters, live, scheduled, maxEventBytes }: Tables) {
  const { sheddable, clicks, oldestClicks } = cache.prepare(STATEMENTS);

  /** If the file is too full for it, returns `false` and sheds nothing. */
  function insert(
    event: OutboxEvent,
    data: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): boolean {
    const { id, destination, kind, createdAt } = event;
    if (!makeSpace(event, destination, size, now)) return false;
    // Field by field: to spread objects costs more than to store the row.
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
    const fits = (freed: number) => totals.bytes() - freed + size <= maxEventBytes;
    // In a queue, an event has its inherited priority: all are in one by the time the file is full.
    if (totals.bytes() > maxEventBytes / 2) queues.enter(ENTERED_WITH_EACH, now);
    const crowded = kind === "click" ? clickToShed(event, destination) : undefined;
    if (crowded) {
      // The new click replaces an old one of its visitor: no other event is shed for it.
      if (!fits(crowded.size)) return false;
      discard(crowded, "visitor-full", now);
      return true;
    }
    // To shed all of these would not be enough, so they are not looked for.
    const below = kindsBelow(kind);
    if (!fits(totals.bytes(...below) + letters.bytes([...below, kind]))) return false;
    if (!fits(0)) {
      live.removeDelivered();
      queues.enter(Number.POSITIVE_INFINITY, now);
      if (isInheritable(kind) && (notBeforeOf(event) ?? 0) <= now)
        queues.raise({ ...idsOf(event), destination, seq: LAST, urgency: priorityOf(kind) }, now);
    }
    return shedFor<SheddableRow>(kind, {
      oldestFirst,
      dead: letters.oldestFirst,
      isEnough: (_, freed) => fits(freed),
      shed: (each) => (each.isLetter ? letters.evict(each) : discard(each, "full", now)),
    });
  }

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
  function oldestFirst(urgency: Urgency): Generator<SheddableRow> {
    const { totals, claims } = cache.known;
    const rank = priorityOf(urgency);
    // Less urgent ones inherit this priority.
    const kinds = LEAST_URGENT_FIRST.filter((kind) => priorityOf(kind) <= rank);
    const groups = totals.destinations.flatMap((destination) =>
      kinds
        .filter((kind) => totals.rows(destination, kind) > 0)
        .map((kind) => [destination, rank, kind] as const),
    );
    const claimed = JSON.stringify(claims.seqs());
    return inOrder(groups, (group, after): SheddableRow | undefined =>
      sheddable.get(...group, after, claimed),
    );
  }

  function discard({ seq }: SheddableRow, reason: "full" | "visitor-full", now: number): void {
    const row = live.takeOut(seq, now);
    ids.forget(row.destination, row.id);
    cache.noteDropped(row, reason);
  }

  return {
    /** Queues a letter again that was taken out; `false` if it has to stay a dead letter. */
    requeue(row: LetterRow, history: string | null, now: number): boolean {
      const event = eventFromRow(row);
      const size = row.size - sizeOfWords(row);
      if (event && insert(event, row.data, { queuedAt: now, history, size }, now)) return true;
      letters.put(row);
      return false;
    },
    append(event: OutboxEvent, now: number): "queued" | "duplicate" | "full" {
      const { id, destination, createdAt } = event;
      if (!ids.learn(destination, id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      const notBefore = notBeforeOf(event);
      if (notBefore !== undefined && notBefore > now) {
        if (makeSpace(event, destination, size, now)) {
          scheduled.put({ destination, id, not_before: notBefore, created_at: createdAt, size, data: json });
          return "queued";
        }
      } else if (insert(event, json, { queuedAt: createdAt, history: null, size }, now)) return "queued";
      ids.forget(destination, id);
      return "full";
    },
  };
}

function idsOf({ data }: OutboxEvent) {
  return { click_id: data.clickId ?? null, session_id: data.sessionId ?? null };
}

const PAGE_BYTES = 4_096;

/** How many bytes a row takes, its index entries included: an upper estimate. */
function sizeOnDisk({ id, data }: OutboxEvent, json: string): number {
  const visitor = (data.clickId?.length ?? 0) + (data.sessionId?.length ?? 0);
  const row = 80 + id.length + visitor + Buffer.byteLength(json);
  // A leaf is two thirds full on average. A row of a third of a page may have one to itself.
  const aside = 1.5 * (80 + visitor);
  return Math.ceil(
    aside + (row < PAGE_BYTES / 3 ? 1.25 * row : PAGE_BYTES * Math.ceil((row + 600) / PAGE_BYTES)),
  );
}
