import type { OutboxEvent } from "../../events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { AttemptOutcome } from "../sql/append.js";
import { type Database, DUPLICATE, errnoOf, LOCK_WAIT_TIMEOUT } from "./database.js";
import { ascii, binary, integer, listOf } from "./literals.js";
import { insertsOf } from "./rows.js";
import type { Sweep } from "./sweep.js";

// ER_LOCK_NOWAIT of MySQL; MariaDB says LOCK_WAIT_TIMEOUT.
const LOCKED = new Set([3572, LOCK_WAIT_TIMEOUT]);

/** Stores events in one statement, unless a host's open transaction has just reported one of them. */
export function createAttempt(database: Database, { prefix, sweep }: { prefix: string; sweep: Sweep }) {
  const keyOf = ({ id, destination }: OutboxEvent) => `(${binary(id)}, ${destination})`;

  return async function attempt(events: readonly OutboxEvent[]): Promise<AttemptOutcome[]> {
    const fresh = new Map(events.map((event) => [keyOf(event), event]));
    try {
      await storeAll(fresh);
      for (const { createdAt } of fresh.values()) sweep.include(createdAt);
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

  /** Keeps only the stored events in the map. */
  async function storeAll(fresh: Map<string, OutboxEvent>): Promise<void> {
    while (fresh.size > 0) {
      try {
        // All of them or none, so that it is known which were stored.
        await database.writeUnlessLocked(insertsOf(prefix, [...fresh.values()]));
        return;
      } catch (error) {
        if (errnoOf(error) !== DUPLICATE) throw error;
      }
      const known = await database.rows<{ id: string; destination: string }>(
        `select lower(hex(id)) as id, cast(destination as char) as destination from \`${prefix}events\`
         where (id, destination) in (${listOf([...fresh.keys()])})`,
      );
      for (const { id, destination } of known) fresh.delete(`(${binary(id)}, ${destination})`);
    }
  }

  /** The events whose rows another transaction has locked. None, if it has locked a gap between rows, or has just ended. */
  async function busyOf(events: readonly OutboxEvent[]): Promise<Set<OutboxEvent>> {
    const busy = new Set<OutboxEvent>();
    for (const event of events) {
      const { id, destination } = event;
      try {
        await database.rows(
          `select 1 from \`${prefix}events\`
           where id = ${binary(id)} and destination = ${destination} for update nowait`,
        );
      } catch (error) {
        if (!LOCKED.has(errnoOf(error) ?? 0)) throw error;
        busy.add(event);
      }
    }
    return busy;
  }

  /** The clicks whose visitor has more than may wait. */
  async function crowdedOf(clicks: readonly OutboxEvent[]): Promise<Set<OutboxEvent>> {
    const crowded = new Set<OutboxEvent>();
    const bySession = clicks.filter(({ data }) => data.sessionId !== undefined);
    const byClick = clicks.filter(({ data }) => data.sessionId === undefined && data.clickId !== undefined);
    const select = (column: string, values: readonly string[], only: string) => `
      select cast(destination as char) as destination, ${column} as visitor from \`${prefix}events\`
      where ${column} in (${listOf(values)}) and destination in (${listOf(numbers)}) and state = 'queued'
        and kind = 'click' ${only}
      group by destination, ${column} having count(*) > ${CLICKS_OF_A_VISITOR}`;
    const numbers = [...new Set(clicks.map(({ destination }) => String(destination)))];
    for (const [column, only, ofThem] of [
      ["session_id", "", bySession],
      ["click_id", "and session_id is null", byClick],
    ] as const) {
      if (ofThem.length === 0) continue;
      const visitorOf = ({ data }: OutboxEvent) =>
        (column === "session_id" ? data.sessionId : data.clickId) as string;
      const values = [...new Set(ofThem.map((click) => ascii(visitorOf(click))))];
      const rows = await database.rows<{ destination: string; visitor: string }>(
        select(column, values, only),
      );
      const found = new Set(rows.map(({ destination, visitor }) => `${destination} ${visitor}`));
      for (const click of ofThem) {
        if (found.has(`${click.destination} ${visitorOf(click)}`)) crowded.add(click);
      }
    }
    return crowded;
  }
}

/** Which of these known events their own report has stored. */
export function createStoredBy(database: Database, prefix: string) {
  // A later report of the same event has a later time.
  const keyOf = ({ id, destination, createdAt }: OutboxEvent) =>
    `(${binary(id)}, ${destination}, ${integer(createdAt)})`;

  return async function storedBy(events: readonly OutboxEvent[]): Promise<ReadonlySet<OutboxEvent>> {
    const rows = await database.rows<{ id: string; destination: string; created_at: number }>(
      `select lower(hex(id)) as id, cast(destination as char) as destination, created_at from \`${prefix}events\`
       where (id, destination, created_at) in (${listOf(events.map(keyOf))})`,
    );
    const stored = new Set(
      rows.map(
        ({ id, destination, created_at }) =>
          `(${binary(id)}, ${destination}, ${integer(Number(created_at))})`,
      ),
    );
    return new Set(events.filter((event) => stored.has(keyOf(event))));
  };
}
