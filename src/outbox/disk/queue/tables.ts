import { type Circuit, type CircuitChange, type StoredCircuits, textOf } from "../../circuits.js";
import { SHARE_OF_DEAD_LETTERS } from "../../shedding.js";
import type { Database } from "../file/sqlite.js";
import { type Cache, createCache } from "./cache.js";
import { createKnownIds } from "./known-ids.js";
import { createLetters } from "./letters.js";
import { createLiveEvents } from "./live-events.js";
import { createQueues } from "./queues.js";
import { createScheduled } from "./scheduled.js";

// Shares of `maxBytes`. The first includes dead letters. SQLite needs the rest, also to delete.
const SHARE_OF_EVENTS = 0.7;
const SHARE_OF_DELIVERED = 0.2;

export type Tables = ReturnType<typeof createTables>;

/** What is done with an event changes several of these tables. */
export function createTables(
  db: Database,
  options: { maxBytes: number; maxDeadLetters: number; rememberMs: number; monotonic: () => number },
) {
  const { maxBytes, maxDeadLetters, rememberMs, monotonic } = options;
  const maxEventBytes = maxBytes * SHARE_OF_EVENTS;
  const cache = createCache(db, monotonic);
  const ids = createKnownIds(cache, { maxBytes: maxBytes * SHARE_OF_DELIVERED, rememberMs });
  const queues = createQueues(cache);
  const live = createLiveEvents({ cache, ids, queues }, maxBytes);
  const scheduled = createScheduled({ cache, ids, live });
  const letters = createLetters(
    { cache, ids },
    { max: maxDeadLetters, maxBytes: maxEventBytes * SHARE_OF_DEAD_LETTERS },
  );
  return { cache, ids, queues, live, scheduled, letters, circuits: createCircuits(cache), maxEventBytes };
}

const CIRCUITS = {
  circuits: "select endpoint, circuit from circuits where destination = ?",
  add: "insert into circuits (destination, endpoint, circuit) values (?, ?, ?) on conflict do nothing",
  change: "update circuits set circuit = ? where destination = ? and endpoint = ? and circuit = ?",
  remove: "delete from circuits where destination = ? and endpoint = ? and circuit = ?",
} as const;

/** Endpoints that leave payments without an answer, as all processes on the file know them. */
function createCircuits({ prepare }: Cache) {
  const { circuits, add, change, remove } = prepare(CIRCUITS);

  return {
    read(destination: number, now: number): StoredCircuits {
      const rows = circuits.all(destination);
      return {
        now,
        circuits: Object.fromEntries(
          rows.map(({ endpoint, circuit }) => [endpoint, JSON.parse(circuit) as Circuit]),
        ),
      };
    },
    /** Returns whether the file still had the circuit `known`. */
    replace({ destination, endpoint, known, next }: CircuitChange): boolean {
      if (!next) return known !== undefined && remove.run(destination, endpoint, textOf(known)).changes > 0;
      if (!known) return add.run(destination, endpoint, textOf(next)).changes > 0;
      return change.run(textOf(next), destination, endpoint, textOf(known)).changes > 0;
    },
  };
}
