import type { EventKind } from "../../events.js";
import type { DeathReason } from "../dead-letters.js";
import type { OutboxCounts, QueuedOfKind } from "../outbox.js";
import type { Destinations } from "./destinations.js";

/** How many events of a kind wait, or how many dead letters of a reason there are, for one destination. */
export interface CountRow {
  readonly destination: string;
  readonly destination_name: string | null;
  readonly name: EventKind | DeathReason;
  readonly number: string | number;
  /** Of events: when the oldest happened, in milliseconds since the epoch. */
  readonly created_at: string | number | null;
  /** Of dead letters. */
  readonly bytes: string | number | null;
}

interface Tally {
  readonly numbers: Record<EventKind | DeathReason, number>;
  readonly oldest: Record<EventKind, number | null>;
  deadBytes: number;
  /** Events that are about to be stored. */
  coming: number;
}

const KINDS = ["click", "registration", "payment"] as const;
const DOUBTS_AT_MOST = 5;

export type Counts = ReturnType<typeof createCounts>;

/**
 * How many events each destination has: counted by the server now and then, because other processes add and remove too; in between,
 * corrected by what this process does. A counter in the database would be one row that every transaction of every host waits for.
 *
 * @param count makes the server count.
 */
export function createCounts(count: () => Promise<readonly CountRow[]>, destinations: Destinations) {
  const tallies = new Map<string, Tally>();
  let underWay = 0;
  let changes = 0;
  // The first count is better than none.
  let doubts = DOUBTS_AT_MOST;

  function tallyOf(destination: string): Tally {
    const tally = tallies.get(destination) ?? emptyTally();
    tallies.set(destination, tally);
    return tally;
  }

  return {
    of: (destination: string, kind: EventKind): number => tallyOf(destination).numbers[kind],
    /** Events that are stored or about to be. */
    queued(destination: string): number {
      const tally = tallyOf(destination);
      return queuedOf(tally) + tally.coming;
    },
    dead(destination: string): number {
      const { rejected, unconfirmed, expired } = tallyOf(destination).numbers;
      return rejected + unconfirmed + expired;
    },
    deadBytes: (destination: string): number => tallyOf(destination).deadBytes,
    /** What an outbox's `counts()` says of one destination, or of all. */
    current(destination: string | undefined): Omit<OutboxCounts, "trouble"> {
      const meant = destination === undefined ? [...tallies.values()] : [tallyOf(destination)];
      const sum = (name: EventKind | DeathReason) =>
        meant.reduce((all, { numbers }) => all + numbers[name], 0);
      const byKind = (kind: EventKind): QueuedOfKind => ({
        queued: sum(kind),
        oldest: earliestOf(meant.map(({ oldest }) => oldest[kind])),
      });
      const kinds = {
        click: byKind("click"),
        registration: byKind("registration"),
        payment: byKind("payment"),
      };
      return {
        queued: KINDS.reduce((all, kind) => all + kinds[kind].queued, 0),
        dead: { rejected: sum("rejected"), unconfirmed: sum("unconfirmed"), expired: sum("expired") },
        oldest: earliestOf(KINDS.map((kind) => kinds[kind].oldest)),
        byKind: kinds,
        byDestination: Object.fromEntries(
          [...tallies]
            .map(([name, tally]) => [name, queuedOf(tally)] as const)
            .filter(([name, queued]) => queued > 0 || name === destination),
        ),
      };
    },
    add(destination: string, kind: EventKind, number: number, createdAt?: number): void {
      const { numbers, oldest } = tallyOf(destination);
      changes++;
      numbers[kind] = Math.max(0, numbers[kind] + number);
      if (createdAt !== undefined) oldest[kind] = Math.min(oldest[kind] ?? createdAt, createdAt);
      if (numbers[kind] === 0) oldest[kind] = null;
    },
    /** Counts a new dead letter, or one that is gone. */
    addDead(destination: string, reason: DeathReason, number: 1 | -1, bytes: number): void {
      const tally = tallyOf(destination);
      changes++;
      tally.numbers[reason] = Math.max(0, tally.numbers[reason] + number);
      tally.deadBytes = Math.max(0, tally.deadBytes + number * bytes);
    },
    /** Runs work that changes the numbers. A count at the same time may or may not include the change. */
    async during<T>(change: () => Promise<T>): Promise<T> {
      underWay++;
      try {
        return await change();
      } finally {
        underWay--;
        changes++;
      }
    },
    /** Counts an event that is about to be stored. Returns what ends that. */
    expect(destination: string): () => void {
      const tally = tallyOf(destination);
      tally.coming++;
      return () => {
        tally.coming--;
      };
    },
    /** Makes the server count. A count during which something changed is dropped, but not again and again. */
    async take(): Promise<void> {
      const before = changes;
      const quiet = underWay === 0;
      const rows = await count();
      if (!(quiet && changes === before) && ++doubts < DOUBTS_AT_MOST) return;
      doubts = 0;
      for (const tally of tallies.values()) Object.assign(tally, { ...emptyTally(), coming: tally.coming });
      for (const { destination, destination_name, name, number, created_at, bytes } of rows) {
        const tally = tallyOf(destinations.nameOf(destination, destination_name));
        tally.numbers[name] = Number(number);
        if (isEventKind(name)) tally.oldest[name] = Number(created_at);
        else tally.deadBytes += Number(bytes);
      }
    },
  };
}

function emptyTally(): Tally {
  return {
    numbers: { click: 0, registration: 0, payment: 0, rejected: 0, unconfirmed: 0, expired: 0 },
    oldest: { click: null, registration: null, payment: null },
    deadBytes: 0,
    coming: 0,
  };
}

function queuedOf({ numbers }: Tally): number {
  return numbers.click + numbers.registration + numbers.payment;
}

function isEventKind(name: EventKind | DeathReason): name is EventKind {
  return (KINDS as readonly string[]).includes(name);
}

function earliestOf(times: readonly (number | null)[]): number | null {
  const known = times.filter((each) => each !== null);
  return known.length === 0 ? null : Math.min(...known);
}
