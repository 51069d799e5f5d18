import { randomUUID } from "node:crypto";
import type { EventKind, OutboxEvent } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../../conversion/kinds.js";
import type { OutboxObserver, Stored } from "../../outbox.js";
import { type CountRow, type Counts, changeOf, isDead } from "../../queue/counts.js";
import { Scope } from "../../queue/database.js";
import type { Queue } from "../../queue/queue.js";
import { DONE, eventOf, inState, storedSizeOf } from "../../queue/rows.js";
import { kindsBelow } from "../../shedding.js";
import type { SqliteDatabase } from "../file/dialect.js";

/**
 * What events take in the file. Measured, an upper estimate: a row without its texts, its entries in
 * the indexes, and its visitor's queue. Some texts leave half a page empty.
 */
export const bytesOf = (number: number, textBytes: number): number => 480 * number + 1.6 * textBytes;

// Of `maxBytes`. Events take less than that, unless ids of settled ones take the rest.
const FULL = 0.85;
const PAGE_BYTES = 4_096;
/** Chosen: for one event, so many of its size. */
const MOST_SHED = 100;
// What ids keep of `maxBytes`, if events take all that they may. Measured: an id and its entries.
const SHARE_OF_IDS = 0.15;
const ID_BYTES = 360;
const LEAST_KEPT = 1_000;

export interface Dropped {
  readonly event: OutboxEvent;
  readonly reason: Parameters<OutboxObserver["dropped"]>[1];
}

/**
 * Bounds the bytes of all events, dead letters included. If there is no space, sheds less important
 * ones: clicks first, of each kind its dead letters first, and of these the oldest.
 */
export function createSpace(
  database: SqliteDatabase,
  options: {
    maxBytes: number;
    counts: Counts;
    queue: Pick<Queue, "append" | "knownOf" | "shedFor" | "evictOldest">;
    onDropped: (dropped: Dropped) => void;
  },
) {
  const { maxBytes, counts, queue, onDropped } = options;

  function missingFor(events: readonly OutboxEvent[]): number {
    const textBytes = events.reduce((sum, event) => sum + storedSizeOf(event), 0);
    return counts.bytes(() => true) + bytesOf(events.length, textBytes) - maxBytes;
  }

  async function append(events: readonly OutboxEvent[]): Promise<readonly Stored[]> {
    if (events.length === 0) return [];
    if (missingFor(events) <= 0) return store(events);
    const outcomes: Stored[] = [];
    for (const event of events) {
      if ((await queue.knownOf([event])).size > 0) outcomes.push("duplicate");
      else outcomes.push(...((await makeFor(event)) ? await store([event]) : (["full"] as const)));
    }
    return outcomes;
  }

  async function store(events: readonly OutboxEvent[]): Promise<readonly ("queued" | "duplicate")[]> {
    // Another one each time: a pass that fails is undone, so what is known is a duplicate.
    const report = randomUUID().slice(0, 13);
    return queue.append(events.map((event) => ({ event, report })));
  }

  /** If there is too little to shed for it, sheds nothing and resolves to `false`. */
  async function makeFor(event: OutboxEvent): Promise<boolean> {
    const lower = kindsBelow(event.kind);
    // If `maxBytes` was lowered, one pass cannot shed all that is too much: it would last too long.
    const left = Math.max(0, missingFor([event]) - MOST_SHED * bytesOf(1, storedSizeOf(event)));
    const missing = () => missingFor([event]) - left;
    const isLess = (row: CountRow) => lower.includes(row.kind) || (row.kind === event.kind && isDead(row));
    if (missing() > counts.bytes(isLess)) return false;
    // What is its own client id's goes first.
    const destinations = new Set([event.destination, ...counts.rows.map((row) => row.destination)]);
    for (const kind of [...lower, event.kind]) {
      for (const shed of kind === event.kind ? [shedDead] : [shedDead, shedLive]) {
        for (const destination of destinations)
          while (missing() > 0 && (await shed(kind, new Scope(destination), event)));
      }
    }
    return missing() <= 0;
  }

  async function shedDead(kind: EventKind, of: Scope): Promise<boolean> {
    const evicted = await queue.evictOldest(kind, of);
    if (evicted) onDropped({ event: eventOf(evicted), reason: "dead-letters-full" });
    return evicted !== undefined;
  }

  async function shedLive(urgency: EventKind, of: Scope, coming: OutboxEvent): Promise<boolean> {
    const [event] = await queue.shedFor([coming], urgency, 1, of);
    if (!event) return false;
    counts.add(changeOf(event, "queued", -1, { bytes: -storedSizeOf(event) }));
    onDropped({ event, reason: "full" });
    return true;
  }

  return {
    /** Stores events in a pass, if there is space. */
    append,
    /**
     * Forgets ids of settled events if the file of `fileBytes` is nearly full: the oldest, those of
     * clicks first, of payments last.
     */
    async forgetIds(fileBytes: number): Promise<void> {
      const { events } = database.words;
      const areSettled = inState(DONE);
      const one = async (text: string) => Number((await database.rows<{ one: number }>(text))[0]?.one);
      const pages = await one(
        "select page_count - freelist_count as one from pragma_page_count, pragma_freelist_count",
      );
      if (pages * PAGE_BYTES <= FULL * fileBytes) return;
      const kept = Math.max(LEAST_KEPT, Math.floor((fileBytes * SHARE_OF_IDS) / ID_BYTES));
      let excess = (await one(`select count(*) as one from ${events} where ${areSettled}`)) - kept;
      for (const kind of LEAST_URGENT_FIRST) {
        if (excess <= 0) return;
        excess -= await database.write(
          `delete from ${events} where seq in (
             select seq from ${events} where ${areSettled} and kind = ? order by at_ms, seq limit ?)`,
          [priorityOf(kind), excess],
        );
      }
    },
  };
}
