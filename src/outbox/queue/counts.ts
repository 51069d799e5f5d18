import { type EventKind, notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { byKind } from "../../conversion/kinds.js";
import { earliestOf, type OutboxCounts, type QueuedOfKind } from "../counts.js";
import { DEATH_REASONS, type DeathReason } from "../dead-letters.js";
import type { Scope } from "./database.js";

/** How many there are of one client id, of one kind, that wait or died in the same way. */
export interface CountRow {
  readonly destination: number;
  readonly kind: EventKind;
  /** `queued`, or `scheduled`; of dead letters, why they were given up. */
  readonly name: "queued" | "scheduled" | DeathReason;
  readonly number: number;
  readonly bytes: number;
  /** When the oldest happened, or the first scheduled is due, in milliseconds since the epoch. */
  readonly at: number | null;
}

/** What a change of one client id's events adds to its row, or takes away. */
export function changeOf(
  { destination, kind }: Pick<OutboxEvent, "destination" | "kind">,
  name: CountRow["name"],
  number: number,
  { bytes = 0, at = null }: Partial<Pick<CountRow, "bytes" | "at">> = {},
): CountRow {
  return { destination, kind, name, number, bytes, at };
}

/** What an event that is stored adds. */
export function storedChange(event: OutboxEvent, now: number, bytes = 0): CountRow {
  const notBefore = notBeforeOf(event);
  const isScheduled = notBefore !== undefined && notBefore > now;
  return changeOf(event, isScheduled ? "scheduled" : "queued", 1, {
    bytes,
    at: isScheduled ? notBefore : event.createdAt,
  });
}

export type Counts = ReturnType<typeof createCounts>;

type Tally = Map<string, CountRow>;

/**
 * How many events there are. The server counts them (`count`) now and then, because other processes
 * change them; in between, what this process does is added. A counter in the database would be one
 * row that every transaction of every host waits for. The numbers may be a second old, and too high
 * by what this process changes during a count, but they include all that it has stored and not
 * settled: `flush` relies on that.
 *
 * @param scope for whose events an outbox has bounds.
 * @param bytesOf what so many events take, with so many bytes of texts. Default: their texts.
 */
export function createCounts(
  count: () => Promise<readonly CountRow[]>,
  scope: Scope,
  bytesOf: (number: number, textBytes: number) => number = (_, textBytes) => textBytes,
) {
  let tally: Tally = new Map();
  /** What this process has added since the server was last asked. */
  let recent: CountRow[] = [];
  /** How often the numbers were replaced by the server's. */
  let counted = 0;
  let mayBeTooHigh = false;
  let taken = Promise.resolve();

  function sum(of: "number" | "bytes", isMeant: (row: CountRow) => boolean): number {
    let result = 0;
    for (const row of tally.values()) if (isMeant(row)) result += row[of];
    return result;
  }

  const bytes = (isMeant: (row: CountRow) => boolean) =>
    bytesOf(sum("number", isMeant), sum("bytes", isMeant));

  function add(change: CountRow): void {
    addTo(tally, change);
    recent.push(change);
  }

  async function countAgain(): Promise<void> {
    recent = [];
    const fresh: Tally = new Map();
    // The server may have counted some of the recent. Too many is better than too few.
    for (const row of [...(await count()), ...recent]) if (row.number > 0) addTo(fresh, row);
    counted++;
    mayBeTooHigh = recent.length > 0;
    tally = fresh;
  }

  return {
    get rows(): readonly CountRow[] {
      return [...tally.values()];
    },
    /** How many wait. Default: of all kinds. */
    queued: (kind?: EventKind): number =>
      sum("number", (row) => scope.has(row) && !isDead(row) && (kind ?? row.kind) === row.kind),
    scheduled: (): number => sum("number", (row) => scope.has(row) && row.name === "scheduled"),
    dead: (): number => sum("number", (row) => scope.has(row) && isDead(row)),
    deadBytes: (): number => bytes((row) => scope.has(row) && isDead(row)),
    /** Whether the numbers may be too high until the server counts again. */
    mayBeTooHigh: (): boolean => mayBeTooHigh,
    /** What events take, of all client ids. */
    bytes,
    add,
    /** Runs work, and adds what it has changed. */
    async during<T>(work: () => Promise<T>, effect: (result: T) => readonly CountRow[]): Promise<T> {
      const before = counted;
      const result = await work();
      const changes = effect(result);
      // The server may have counted what was added meanwhile, or no longer what has left.
      if (counted !== before && changes.length > 0) mayBeTooHigh = true;
      for (const change of changes) if (change.number > 0 || counted === before) add(change);
      return result;
    },
    /** Makes the server count. Never two at once: the answers could come in the wrong order. */
    take(): Promise<void> {
      const next = taken.then(countAgain);
      taken = next.catch(() => {});
      return next;
    },
  };
}

export const isDead = ({ name }: Pick<CountRow, "name">): boolean =>
  (DEATH_REASONS as readonly string[]).includes(name);

/** An outbox's `counts()`, without what waits in memory. */
export function countsOf(all: readonly CountRow[], scope: Scope): Omit<OutboxCounts, "trouble"> {
  const rows = all.filter((row) => scope.has(row));
  const named = (name: CountRow["name"]) => rows.filter((row) => row.name === name);
  const numberOf = (some: readonly CountRow[]) => some.reduce((sum, { number }) => sum + number, 0);
  const firstOf = (some: readonly CountRow[]) => earliestOf(some.map(({ at }) => at));
  const [queued, scheduled] = [named("queued"), named("scheduled")];
  const died = (reason: DeathReason) => numberOf(named(reason));
  const live = [...queued, ...scheduled];
  const kinds = byKind((kind): QueuedOfKind => {
    const isOfKind = (row: CountRow) => row.kind === kind;
    return { queued: numberOf(live.filter(isOfKind)), oldest: firstOf(queued.filter(isOfKind)) };
  });
  const byDestination: Record<string, number> = {};
  for (const { destination, number } of live)
    if (number > 0) byDestination[destination] = (byDestination[destination] ?? 0) + number;
  return {
    ...{ queued: numberOf(live), oldest: firstOf(queued), byKind: kinds, byDestination },
    dead: { rejected: died("rejected"), unconfirmed: died("unconfirmed"), expired: died("expired") },
    scheduled: { count: numberOf(scheduled), next: firstOf(scheduled) },
  };
}

function addTo(tally: Tally, row: CountRow): void {
  const name = `${row.destination} ${row.kind} ${row.name}`;
  const before = tally.get(name);
  const number = Math.max(0, (before?.number ?? 0) + row.number);
  const bytes = Math.max(0, (before?.bytes ?? 0) + row.bytes);
  tally.set(name, {
    ...row,
    number,
    bytes,
    at: number === 0 ? null : earliestOf([before?.at ?? null, row.at]),
  });
}
