import type { CancelOutcome } from "../outbox.js";
import type { Counts } from "../sql/counts.js";
import { type EventRow, eventOf } from "../sql/event-rows.js";
import type { Database } from "./database.js";
import { errnoOf, LOCK_WAIT_TIMEOUT } from "./errors.js";
import { binary, integer, isOneOf, NOW } from "./literals.js";
import { periodIn } from "./periods.js";
import { CANCELLED, EVENT_COLUMNS, insertsOf } from "./rows.js";

type DueRow = EventRow & { readonly seq: number; readonly due_at: number };

const RELEASED_AT_ONCE = 50;

export function createScheduled(database: Database, counts: Counts) {
  const { prefix, events } = database;

  /** The first that are due, by an index. Locks nothing. */
  function dueOf(destination: number): Promise<DueRow[]> {
    return database.rows<DueRow>(
      `select ${EVENT_COLUMNS}, due_at from ${database.eventsByDue}
       where state = 'scheduled' and destination = ${integer(destination)} and urgency = 0
         and endpoint = 'lead/payment' and tried = 0 and period <= ${periodIn(NOW)} and due_at <= ${NOW}
       order by period, due_at, seq limit ${RELEASED_AT_ONCE}`,
    );
  }

  /** Each becomes a new row, at the end of its visitor's queue. */
  function enqueue(found: readonly DueRow[], destination: number): Promise<number> {
    return database.unlessLocked(async ({ rows, write }) => {
      const locked = await rows<{ seq: number }>(
        `select seq from ${database.eventsBySeq} where ${isOneOf(found)} and state = 'scheduled' for update`,
      );
      const left = new Set(locked.map(({ seq }) => Number(seq)));
      const released = found.filter(({ seq }) => left.has(Number(seq)));
      if (released.length === 0) return 0;
      await write(`delete from ${events} where ${isOneOf(released)}`);
      const fresh = released.map((row) => eventOf({ ...row, created_at: row.due_at }, destination));
      for (const text of insertsOf(prefix, fresh, true)) await write(text);
      return released.length;
    });
  }

  /**
   * A row that replaces a deleted one in a unique index also waits for the next row there. If a
   * host's open transaction has just stored that, its payment stays scheduled, and the others go.
   */
  async function enqueueUnlessLocked(found: readonly DueRow[], destination: number): Promise<number> {
    try {
      return await enqueue(found, destination);
    } catch (error) {
      if (errnoOf(error) !== LOCK_WAIT_TIMEOUT) throw error;
    }
    let released = 0;
    if (found.length > 1) for (const row of found) released += await enqueueUnlessLocked([row], destination);
    return released;
  }

  return {
    /** Moves some due ones into the queue, as if they happened then. Resolves to their number. */
    async release(destination: number): Promise<number> {
      const found = await dueOf(destination);
      if (found.length === 0) return 0;
      const released = await counts.during(() => enqueueUnlessLocked(found, destination));
      counts.release(destination, released);
      return released;
    },
    async cancel(id: string, destination: number): Promise<CancelOutcome> {
      const which = `id = ${binary(id)} and destination = ${integer(destination)}`;
      const look = () =>
        database.rows<{ state: string; reason: string | null }>(
          `select cast(state as char) as state, cast(reason as char) as reason from ${events} where ${which}`,
        );
      // Not written at once: that would wait for a host's transaction that just reported it.
      let [row] = await look();
      if (row?.state === "scheduled") {
        const cancelled = await counts.during(() =>
          database.write(`update ${events} set ${CANCELLED} where ${which} and state = 'scheduled'`),
        );
        counts.add(destination, "scheduled", -cancelled);
        [row] = await look();
      }
      if (!row) return "unknown";
      return row.state === "known" && row.reason === "cancelled" ? "cancelled" : "sent";
    },
  };
}
