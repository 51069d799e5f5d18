import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../../conversion/events.js";
import { CLICKS_OF_A_VISITOR } from "../../outbox.js";
import { type Counts, changeOf, storedChange } from "../../queue/counts.js";
import type { Queue } from "../../queue/queue.js";
import { sizeOf } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";
import type { Dropped, RequestOf, Results } from "./requests.js";
import type { createSpace } from "./space.js";

/** Stores events in a pass, if there is space. */
export function createAppends(options: {
  database: SqliteDatabase;
  queue: Pick<Queue, "append" | "newRow" | "shedClicks">;
  counts: Counts;
  space: ReturnType<typeof createSpace>;
  now: () => number;
  onDropped: (dropped: Dropped) => void;
}) {
  const { database, queue, counts, space, now, onDropped } = options;
  const reporter = randomUUID().slice(0, 13);
  let reports = 0;

  async function append(asked: readonly RequestOf<"append">[]): Promise<Results["append"][]> {
    if (asked.length === 0) return [];
    const events = asked.map(({ event }) => event);
    if (space.fits(events)) return store(events);
    const outcomes: Results["append"][] = [];
    for (const event of events) {
      const { text, values } = queue.newRow(event).known;
      if ((await database.rows(text, values)).length > 0) outcomes.push("duplicate");
      else outcomes.push(...((await space.make(event)) ? await store([event]) : (["full"] as const)));
    }
    return outcomes;
  }

  async function store(events: readonly OutboxEvent[]): Promise<("queued" | "duplicate")[]> {
    // Another one each time: a pass that fails is undone, so what is known is a duplicate.
    const report = `${reporter} ${++reports}`;
    const stored = await queue.append(
      database,
      events.map((event) => ({ event, report })),
    );
    const crowded = new Map<string, OutboxEvent>();
    for (const [nth, event] of events.entries()) {
      if (stored[nth] === "duplicate") continue;
      counts.add(storedChange(event, now(), sizeOf(event)));
      if (stored[nth] === "crowded") crowded.set(namesOf(event), event);
    }
    for (const event of crowded.values()) await shedClicks(event);
    return stored.map((each) => (each === "crowded" ? "queued" : each));
  }

  async function shedClicks(crowded: OutboxEvent): Promise<void> {
    for (const event of await queue.shedClicks(crowded, CLICKS_OF_A_VISITOR)) {
      counts.add(changeOf(event, "queued", -1, { bytes: -sizeOf(event) }));
      onDropped({ event, reason: "visitor-full" });
    }
  }

  return append;
}

function namesOf({ destination, data: { sessionId, clickId } }: OutboxEvent): string {
  return `${destination} ${sessionId} ${clickId}`;
}
