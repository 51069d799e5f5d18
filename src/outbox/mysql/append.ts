import type { OutboxEvent } from "../../conversion/events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { AttemptOutcome } from "../sql/append.js";
import type { Database } from "./database.js";
import { DUPLICATE, errnoOf, LOCK_WAIT_TIMEOUT } from "./errors.js";
import { binary, integer, listOf } from "./literals.js";
import type { Periods } from "./periods.js";
import { areClicksBeside, insertsOf } from "./rows.js";

// ER_LOCK_NOWAIT of MySQL; MariaDB says LOCK_WAIT_TIMEOUT.
const LOCKED = new Set([3572, LOCK_WAIT_TIMEOUT]);

/** Stores events in one statement, unless a host's open transaction has just reported one. */
export function createAttempt(database: Database, periods: Periods) {
  const { prefix, events: table } = database;
  const keyOf = ({ id, destination }: OutboxEvent) => `(${binary(id)}, ${destination})`;

  return async function attempt(events: readonly OutboxEvent[]): Promise<AttemptOutcome[]> {
    const fresh = new Map(events.map((event) => [keyOf(event), event]));
    try {
      await storeAll(fresh);
      for (const { createdAt } of fresh.values()) periods.include(createdAt);
    } catch (error) {
      if (errnoOf(error) !== LOCK_WAIT_TIMEOUT) throw error;
      const busy = await busyOf(events);
      return events.map((event) => (busy.has(event) ? "busy" : "rolled back"));
    }
    const crowded = await crowdedOf([...fresh.values()].filter(({ kind }) => kind === "click"));
    return events.map((event) => {
      if (fresh.get(keyOf(event)) !== event) return "duplicate";
      return crowded.has(event) ? "crowded" : "queued";
    });
  };

  function writeAll(texts: readonly string[]): Promise<void> {
    return database.unlessLocked(
      async ({ write }) => {
        for (const text of texts) await write(text);
      },
      { inTransaction: texts.length > 1 },
    );
  }

  /** Stores the events of the map, and removes from it those that were known before. */
  async function storeAll(fresh: Map<string, OutboxEvent>): Promise<void> {
    while (fresh.size > 0) {
      try {
        // All or none, so that it is known which were stored.
        await writeAll(insertsOf(prefix, [...fresh.values()]));
        return;
      } catch (error) {
        if (errnoOf(error) !== DUPLICATE) throw error;
      }
      const known = await database.rows<{ id: string; destination: string }>(
        `select lower(hex(id)) as id, cast(destination as char) as destination from ${table}
         where (id, destination) in (${listOf([...fresh.keys()])})`,
      );
      for (const { id, destination } of known) fresh.delete(`(${binary(id)}, ${destination})`);
    }
  }

  /** Events whose rows are locked. None if it was a gap between rows, or the lock is gone. */
  async function busyOf(events: readonly OutboxEvent[]): Promise<Set<OutboxEvent>> {
    const busy = new Set<OutboxEvent>();
    for (const event of events) {
      const { id, destination } = event;
      try {
        await database.rows(
          `select 1 from ${table}
           where id = ${binary(id)} and destination = ${destination} for update nowait`,
        );
      } catch (error) {
        if (!LOCKED.has(errnoOf(error) ?? 0)) throw error;
        busy.add(event);
      }
    }
    return busy;
  }

  /** Clicks of visitors that have more than may wait: one of each visitor. */
  async function crowdedOf(clicks: readonly OutboxEvent[]): Promise<Set<OutboxEvent>> {
    if (clicks.length === 0) return new Set();
    const visitors = [...new Map(clicks.map((click) => [areClicksBeside(click), click]))];
    const selects = visitors.map(
      ([are], nth) =>
        `(select ${nth} as nth from ${table} where ${are} limit 1 offset ${CLICKS_OF_A_VISITOR})`,
    );
    const rows = await database.rows<{ nth: number }>(selects.join(" union all "));
    return new Set(rows.flatMap(({ nth }) => visitors[Number(nth)]?.[1] ?? []));
  }
}

/** Which known events their own report has stored. */
export function createStoredBy(database: Database) {
  // A later report has a later time.
  const keyOf = ({ id, destination, createdAt }: Pick<OutboxEvent, "id" | "destination" | "createdAt">) =>
    `(${binary(id)}, ${destination}, ${integer(createdAt)})`;

  return async function storedBy(events: readonly OutboxEvent[]): Promise<ReadonlySet<OutboxEvent>> {
    const rows = await database.rows<{ id: string; destination: string; created_at: number }>(
      `select lower(hex(id)) as id, cast(destination as char) as destination, created_at from ${database.events}
       where (id, destination, created_at) in (${listOf(events.map(keyOf))})`,
    );
    const stored = new Set(
      rows.map(({ id, destination, created_at }) =>
        keyOf({ id, destination: Number(destination), createdAt: Number(created_at) }),
      ),
    );
    return new Set(events.filter((event) => stored.has(keyOf(event))));
  };
}
