import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { byKind, KINDS } from "../../conversion/kinds.js";
import { earliestOf, type OutboxCounts, type QueuedOfKind, withScheduled } from "../counts.js";
import type { DeathReason } from "../dead-letters.js";

/** How many of a kind wait, payments are scheduled, or dead letters have a reason. */
export interface CountRow {
  readonly destination: string | number;
  readonly name: Name;
  readonly number: string | number;
  /** When the oldest happened, or the first scheduled is due. Milliseconds since the epoch. */
  readonly created_at: string | number | null;
  readonly kind: EventKind;
  readonly bytes: string | number | null;
}

/** Of an event that is added or removed. */
interface Added {
  readonly createdAt?: number | undefined;
  /** Negative if an event leaves. Only if the outbox bounds bytes. */
  readonly bytes?: number;
}

type Live = EventKind | "scheduled";
type Name = Live | DeathReason;

interface Counted {
  readonly numbers: Record<Name, number>;
  readonly oldest: Record<Live, number | null>;
  /** Of events that wait, scheduled ones included. */
  readonly liveBytes: Record<EventKind, number>;
  readonly deadBytes: Record<EventKind, number>;
  /** How many dead letters of each kind there are. */
  readonly deadOf: Record<EventKind, number>;
}

interface Tally extends Counted {
  /** Added by this process since its start. */
  readonly added: Record<Name, number>;
  /** About to be stored. */
  coming: number;
  /** About to be removed. */
  readonly leaving: Record<Name, number>;
}

const LIVE = [...KINDS, "scheduled"] as const;
const REASONS = ["rejected", "unconfirmed", "expired"] as const;
const NAMES = [...LIVE, ...REASONS] as const;

export type Counts = ReturnType<typeof createCounts>;

/**
 * How many events each destination has. The server counts them (`count`) now and then, because
 * other processes change them; in between, what this process does is added. A counter in the
 * database would be one row that every transaction of every host waits for. The numbers include all
 * that this process has stored and not settled: `flush` relies on them to say that all are settled.
 */
export function createCounts(count: () => Promise<readonly CountRow[]>) {
  const tallies = new Map<number, Tally>();
  let underWay = 0;
  let changes = 0;
  let isCounted = false;

  function tallyOf(destination: number): Tally {
    const tally = tallies.get(destination) ?? emptyTally();
    tallies.set(destination, tally);
    return tally;
  }

  async function run<T>(change: () => Promise<T>, leaving: readonly OutboxEvent[]): Promise<T> {
    const most = Math.max(1, leaving.length);
    underWay += most;
    for (const { destination, kind } of leaving) tallyOf(destination).leaving[kind]++;
    try {
      return await change();
    } finally {
      underWay -= most;
      for (const { destination, kind } of leaving) tallyOf(destination).leaving[kind]--;
      changes += most;
    }
  }

  function countedFrom(rows: readonly CountRow[]): Map<number, Counted> {
    const all = new Map<number, Counted>();
    for (const { destination, name, number, created_at, kind, bytes } of rows) {
      const called = Number(destination);
      const counted = all.get(called) ?? nothing();
      all.set(called, counted);
      // A name may have several rows: of events with and without a place, of letters of each kind.
      counted.numbers[name] += Number(number);
      if (isLive(name)) counted.oldest[name] = earliestOf([counted.oldest[name], Number(created_at)]);
      else counted.deadOf[kind] += Number(number);
      counted[isLive(name) ? "liveBytes" : "deadBytes"][kind] += Number(bytes);
    }
    return all;
  }

  return {
    of: (destination: number, kind: EventKind): number => tallyOf(destination).numbers[kind],
    scheduled: (destination: number): number => tallyOf(destination).numbers.scheduled,
    /** Stored, or about to be. */
    queued(destination: number): number {
      const tally = tallyOf(destination);
      return queuedOf(tally) + tally.coming;
    },
    dead(destination: number): number {
      const { rejected, unconfirmed, expired } = tallyOf(destination).numbers;
      return rejected + unconfirmed + expired;
    },
    deadBytes: (destination: number): number => sumOf(tallyOf(destination).deadBytes),
    /** Of all destinations: the events that wait and the dead letters of a kind. */
    sizes: (kind: EventKind) => {
      const all = [...tallies.values()];
      const sum = (of: (tally: Tally) => number) => all.reduce((before, tally) => before + of(tally), 0);
      const scheduled = kind === "payment" ? sum(({ numbers }) => numbers.scheduled) : 0;
      return {
        live: {
          number: sum(({ numbers }) => numbers[kind]) + scheduled,
          bytes: sum(({ liveBytes }) => liveBytes[kind]),
        },
        dead: { number: sum(({ deadOf }) => deadOf[kind]), bytes: sum(({ deadBytes }) => deadBytes[kind]) },
      };
    },
    get destinations(): number[] {
      return [...tallies.keys()];
    },
    /** An outbox's `counts()`, of one destination or of all. */
    current(destination: number | undefined): Omit<OutboxCounts, "trouble"> {
      const meant = destination === undefined ? [...tallies.values()] : [tallyOf(destination)];
      const sum = (name: Name) => meant.reduce((all, { numbers }) => all + numbers[name], 0);
      const kinds = byKind(
        (kind): QueuedOfKind => ({
          queued: sum(kind),
          oldest: earliestOf(meant.map(({ oldest }) => oldest[kind])),
        }),
      );
      const counted = {
        queued: KINDS.reduce((all, kind) => all + kinds[kind].queued, 0),
        dead: { rejected: sum("rejected"), unconfirmed: sum("unconfirmed"), expired: sum("expired") },
        oldest: earliestOf(KINDS.map((kind) => kinds[kind].oldest)),
        byKind: kinds,
      };
      const next = earliestOf(meant.map(({ oldest }) => oldest.scheduled));
      return {
        ...withScheduled(counted, { count: sum("scheduled"), next }),
        byDestination: Object.fromEntries(
          [...tallies]
            .map(([name, tally]) => [name, queuedOf(tally)] as const)
            .filter(([name, queued]) => queued > 0 || name === destination),
        ),
      };
    },
    /** Scheduled payments were moved into the queue. */
    release(destination: number, number: number): void {
      if (number === 0) return;
      this.add(destination, "scheduled", -number);
      this.add(destination, "payment", number);
    },
    add(destination: number, kind: Live, number: number, { createdAt, bytes = 0 }: Added = {}): void {
      const { numbers, added, oldest, liveBytes } = tallyOf(destination);
      const called = kind === "scheduled" ? "payment" : kind;
      liveBytes[called] = Math.max(0, liveBytes[called] + bytes);
      changes += Math.abs(number);
      numbers[kind] = Math.max(0, numbers[kind] + number);
      if (number > 0) added[kind] += number;
      if (createdAt !== undefined) oldest[kind] = Math.min(oldest[kind] ?? createdAt, createdAt);
      if (numbers[kind] === 0) oldest[kind] = null;
    },
    /** A dead letter is new, or gone. */
    addDead(
      destination: number,
      { kind, reason }: { kind: EventKind; reason: DeathReason },
      number: 1 | -1,
      bytes: number,
    ): void {
      const tally = tallyOf(destination);
      changes++;
      tally.numbers[reason] = Math.max(0, tally.numbers[reason] + number);
      if (number > 0) tally.added[reason] += number;
      tally.deadOf[kind] = Math.max(0, tally.deadOf[kind] + number);
      tally.deadBytes[kind] = Math.max(0, tally.deadBytes[kind] + number * bytes);
    },
    /** Runs work that changes the numbers. A simultaneous count may or may not include it. */
    during: <T>(change: () => Promise<T>): Promise<T> => run(change, []),
    /** The same for work that removes these events, if any. */
    removing: <T>(events: readonly OutboxEvent[], change: () => Promise<T>): Promise<T> =>
      run(change, events),
    /** An event is about to be stored. Returns what ends that. */
    expect(destination: number): () => void {
      const tally = tallyOf(destination);
      tally.coming++;
      return () => {
        tally.coming--;
      };
    },
    /**
     * Makes the server count. Its numbers may lack or include what this process changes before the
     * answer: only a number that differs by more than that is corrected.
     */
    async take(): Promise<void> {
      const changesBefore = changes;
      const addedBefore = new Map([...tallies].map(([name, { added }]) => [name, { ...added }]));
      const rows = await count();
      const most = isCounted ? changes - changesBefore + underWay : Number.NEGATIVE_INFINITY;
      isCounted = true;
      const counted = countedFrom(rows);
      for (const name of new Set([...tallies.keys(), ...counted.keys()])) {
        const before = addedBefore.get(name) ?? zeros();
        correct(tallyOf(name), counted.get(name) ?? nothing(), { most, addedBefore: before });
      }
    },
  };
}

/**
 * Corrects a tally by the server's numbers. When the server was asked, this process had added
 * `addedBefore`; since then it may have changed a number by `most`.
 */
function correct(
  tally: Tally,
  counted: Counted,
  { most, addedBefore }: { most: number; addedBefore: Readonly<Record<Name, number>> },
): void {
  const { numbers, added, leaving, oldest } = tally;
  let areSame = true;
  for (const name of NAMES) {
    if (Math.abs(numbers[name] - counted.numbers[name]) <= most) continue;
    areSame = false;
    // Until the next count, too many is better than too few. The server may lack what was added
    // since it was asked, and what is about to be removed.
    numbers[name] = counted.numbers[name] + added[name] - addedBefore[name] + leaving[name];
  }
  for (const kind of LIVE) {
    oldest[kind] = numbers[kind] === 0 ? null : (counted.oldest[kind] ?? oldest[kind]);
  }
  if (!areSame || most === 0)
    for (const part of ["liveBytes", "deadBytes", "deadOf"] as const)
      Object.assign(tally[part], counted[part]);
}

function emptyTally(): Tally {
  return { ...nothing(), added: zeros(), coming: 0, leaving: zeros() };
}

function nothing(): Counted {
  const none = () => byKind(() => 0);
  return {
    numbers: zeros(),
    oldest: { ...byKind(() => null), scheduled: null },
    ...{ liveBytes: none(), deadBytes: none(), deadOf: none() },
  };
}

function sumOf(bytes: Readonly<Record<EventKind, number>>): number {
  return KINDS.reduce((sum, kind) => sum + bytes[kind], 0);
}

function zeros(): Record<Name, number> {
  return { ...byKind(() => 0), scheduled: 0, rejected: 0, unconfirmed: 0, expired: 0 };
}

function queuedOf({ numbers }: Tally): number {
  return LIVE.reduce((sum, name) => sum + numbers[name], 0);
}

function isLive(name: Name): name is Live {
  return (LIVE as readonly string[]).includes(name);
}
