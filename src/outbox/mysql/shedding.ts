import { randomBytes } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { ENDPOINTS } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { type EventRow, eventOf } from "../sql/event-rows.js";
import type { Urgency } from "../urgency.js";
import type { Database } from "./database.js";
import { binary, due, integer, isOneOf, NOW } from "./literals.js";
import { areClicksBeside, EVENT_COLUMNS } from "./rows.js";
import type { Search } from "./search.js";
import { canBe, type createInheritance } from "./urgency.js";
import type { createVisitorQueue } from "./visitor-queue.js";

// Several: other processes may claim some meanwhile. If they claim all, it looks again.
const LOOK = 5;
// A full outbox makes each event enter its queue before storing it. So only older events, and those
// of other processes, are left to enter.
const ENTERED_FOR_MS = 100;

/** Removes events that no process has claimed, and forgets their ids. */
export function createShedding(
  database: Database,
  options: {
    queue: ReturnType<typeof createVisitorQueue>;
    inheritance: ReturnType<typeof createInheritance>;
    search: Search;
    leaseMs: number;
    clock: Clock;
  },
) {
  const { queue, inheritance, search, leaseMs, clock } = options;
  let enteredUntil = Number.NEGATIVE_INFINITY;
  const { events } = database;

  /** Claims them first: if this process dies, the others take them over. */
  async function remove(
    found: readonly { readonly seq: number }[],
    destination: number,
  ): Promise<OutboxEvent[]> {
    if (found.length === 0) return [];
    const self = binary(randomBytes(16).toString("hex"));
    const these = `${isOneOf(found)} and state = 'queued'`;
    await database.write(
      `update ${events} set claimed_by = ${self}, ${due(`${NOW} + ${integer(leaseMs)}`)}
       where ${these} and claimed_by is null`,
    );
    const rows = await database.rows<EventRow>(
      `select ${EVENT_COLUMNS} from ${events} where ${these} and claimed_by = ${self} order by seq`,
    );
    await database.write(`delete from ${events} where ${these} and claimed_by = ${self}`);
    const removed = rows.map((row) => eventOf(row, destination));
    await queue.advance(removed);
    return removed;
  }

  /**
   * The first event of each part of the index: the one reported first; if they have rested, the one
   * due first.
   */
  async function oldestOf(destination: number, urgency: Urgency): Promise<{ seq: number }[]> {
    const parts = ENDPOINTS.filter((endpoint) => canBe(urgency, endpoint)).flatMap((endpoint) =>
      [
        ["tried = 0 and period is not null", "period, due_at, seq"],
        // By the index's last column alone: if both are named, the server may sort all.
        ["tried = 0 and period is null and due_at is null", "seq"],
        ["tried = 1", "period, due_at, seq"],
      ].map(
        ([which, order]) => `(
          select seq from ${database.eventsByDue}
          where state = 'queued' and destination = ${destination} and urgency = ${priorityOf(urgency)} and endpoint = '${endpoint}'
            and ${which} and claimed_by is null
          order by ${order} limit ${LOOK}
        )`,
      ),
    );
    return database.rows(
      `select seq from (${parts.join(" union all ")}) as oldest order by seq limit ${LOOK}`,
    );
  }

  return {
    /** Removes the oldest event of an urgency for which the new one does not wait. */
    async oldestFor(coming: OutboxEvent, urgency: Urgency): Promise<OutboxEvent | undefined> {
      const { destination } = coming;
      if (clock.monotonic() >= enteredUntil) {
        await queue.enter(await search([], { destination, claimedHere: [] }));
        enteredUntil = clock.monotonic() + ENTERED_FOR_MS;
      }
      await inheritance.passOnBefore(coming);
      for (;;) {
        const oldest = await oldestOf(destination, urgency);
        if (oldest.length === 0) return undefined;
        for (const each of oldest) {
          const [event] = await remove([each], destination);
          if (event) return event;
        }
      }
    },
    /** Removes a visitor's oldest clicks until at most so many are left. */
    async clicks(event: OutboxEvent, most: number): Promise<OutboxEvent[]> {
      const rows = await database.rows<{ seq: number; claimed: number }>(
        `select seq, claimed_by is not null as claimed from ${events} where ${areClicksBeside(event)} order by seq`,
      );
      const free = rows.filter(({ claimed }) => Number(claimed) === 0);
      return remove(free.slice(0, Math.max(0, rows.length - most)), event.destination);
    },
  };
}
