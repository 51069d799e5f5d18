import { randomBytes } from "node:crypto";
import type { OutboxEvent } from "../../events.js";
import { priorityOf } from "../../kinds.js";
import { ENDPOINTS } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { type EventRow, eventOf } from "../sql/event-rows.js";
import type { Urgency } from "../urgency.js";
import type { Database } from "./database.js";
import { ascii, binary, due, integer, listOf, NOW } from "./literals.js";
import { EVENT_COLUMNS } from "./rows.js";
import type { Search } from "./search.js";
import { canBe, type createLending } from "./urgency.js";
import type { createVisitorQueue } from "./visitor-queue.js";

// Several, because other processes may claim some meanwhile. If they claim all of these, it looks again.
const LOOK = 5;
// A full outbox makes each event enter its queue before storing it, so only older events, and those of other processes, are
// left to enter.
const ENTERED_FOR_MS = 100;

/** Removes events that no process has claimed, and forgets their ids. */
export function createShedding(
  database: Database,
  options: {
    prefix: string;
    queue: ReturnType<typeof createVisitorQueue>;
    lending: ReturnType<typeof createLending>;
    search: Search;
    leaseMs: number;
    clock: Clock;
  },
) {
  const { prefix, queue, lending, search, leaseMs, clock } = options;
  let enteredUntil = Number.NEGATIVE_INFINITY;
  const events = `\`${prefix}events\``;

  /** Claims them first: if this process dies before it has read them, the others take them over. */
  async function remove(seqs: readonly number[], destination: number): Promise<OutboxEvent[]> {
    if (seqs.length === 0) return [];
    const self = binary(randomBytes(16).toString("hex"));
    const these = `seq in (${listOf(seqs.map(String))}) and state = 'queued'`;
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

  /** The first few events of each part of the index, the oldest reports first; those that have rested in the order in which they are due. */
  async function oldestOf(destination: number, urgency: Urgency): Promise<number[]> {
    const number = destination;
    const parts = ENDPOINTS.filter((endpoint) => canBe(urgency, endpoint)).flatMap((endpoint) =>
      [
        ["tried = 0 and period is not null", "period, due_at, seq"],
        // By the last column of the index alone: told of both, the server may sort all of them.
        ["tried = 0 and period is null and due_at is null", "seq"],
        ["tried = 1", "period, due_at, seq"],
      ].map(
        ([which, order]) => `(
          select seq from ${events} force index (\`${prefix}events_due\`)
          where state = 'queued' and destination = ${number} and urgency = ${priorityOf(urgency)} and endpoint = '${endpoint}'
            and ${which} and claimed_by is null
          order by ${order} limit ${LOOK}
        )`,
      ),
    );
    const rows = await database.rows<{ seq: number }>(
      `select seq from (${parts.join(" union all ")}) as oldest order by seq limit ${LOOK}`,
    );
    return rows.map(({ seq }) => Number(seq));
  }

  return {
    /** Removes the oldest event of an urgency for which the new event does not wait; `undefined` where there is none. */
    async oldestFor(coming: OutboxEvent, urgency: Urgency): Promise<OutboxEvent | undefined> {
      const { destination } = coming;
      if (clock.monotonic() >= enteredUntil) {
        await queue.enter(await search([], { destination, claimedHere: [] }));
        enteredUntil = clock.monotonic() + ENTERED_FOR_MS;
      }
      await lending.lendBefore(coming);
      for (;;) {
        const seqs = await oldestOf(destination, urgency);
        if (seqs.length === 0) return undefined;
        for (const seq of seqs) {
          const [event] = await remove([seq], destination);
          if (event) return event;
        }
      }
    },
    /** Removes the oldest clicks of an event's visitor, until at most so many are left. */
    async clicks({ destination, data }: OutboxEvent, most: number): Promise<OutboxEvent[]> {
      const visitor =
        data.sessionId === undefined
          ? `click_id = ${ascii(data.clickId)} and session_id is null`
          : `session_id = ${ascii(data.sessionId)}`;
      const rows = await database.rows<{ seq: number; claimed: number }>(
        `select seq, claimed_by is not null as claimed from ${events}
         where ${visitor} and destination = ${destination} and state = 'queued'
           and kind = 'click'
         order by seq`,
      );
      const free = rows.filter(({ claimed }) => Number(claimed) === 0).map(({ seq }) => Number(seq));
      return remove(free.slice(0, Math.max(0, rows.length - most)), destination);
    },
  };
}
