import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../../conversion/events.js";
import type { Queue } from "../../queue/queue.js";
import type { SqliteDatabase } from "../file/dialect.js";
import type { RequestOf, Results } from "./requests.js";
import type { createSpace } from "./space.js";

/** Stores events in a pass, if there is space. */
export function createAppends(options: {
  database: SqliteDatabase;
  queue: Pick<Queue, "append" | "newRow">;
  space: ReturnType<typeof createSpace>;
}) {
  const { database, queue, space } = options;
  const reporter = randomUUID().slice(0, 13);
  let reports = 0;

  async function append(asked: readonly RequestOf<"append">[]): Promise<readonly Results["append"][]> {
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

  async function store(events: readonly OutboxEvent[]): Promise<readonly ("queued" | "duplicate")[]> {
    // Another one each time: a pass that fails is undone, so what is known is a duplicate.
    const report = `${reporter} ${++reports}`;
    return queue.append(events.map((event) => ({ event, report })));
  }

  return append;
}
