import type { OutboxEvent } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../../conversion/kinds.js";
import { endpointOf } from "../../../service/endpoints.js";
import { harmless } from "../../../shared/harmless.js";
import { objectFromJson } from "../../../shared/json.js";
import { type Database, failureOf, type Value } from "../file/sqlite.js";
import { type EventRow, isEventId, type LetterRow, type NewRow, type ScheduledRow } from "./rows.js";
import type { Claimer, StoredClaims } from "./state.js";
import type { Tables } from "./tables.js";

/** A row of a lost file, unchecked, and the process that has claimed it. */
interface LostRow extends Readonly<Record<string, Value | Claimer | undefined>> {
  readonly seq: number;
  readonly claimer?: Claimer | undefined;
}

type LostTable = "scheduled" | "events" | "dead_letters" | "delivered";

export interface Saved {
  readonly events: number;
  readonly deadLetters: number;
}

const AT_ONCE = 200;
// A file may not say which events were under way, or delivered and not deleted yet. Then every
// queue head may have been sent. So may the first 1,024 unqueued events: more than twenty processes
// can have claimed.
const MOST_UNDER_WAY = 1_024;
// A receipt may wait a second. With 50,000, a small damaged file took longer (measured).
const MOST_TRIED = 2_500;

/**
 * Saves what can be read of a file that was deleted, replaced or damaged: waiting events, dead
 * letters, and ids of delivered events. Skips what the other file has: another process may have
 * saved it.
 *
 * @param save stores rows in one transaction, and returns how many were new.
 * @throws what saving throws. What cannot be read is left behind.
 */
export function salvage(lost: Database, save: (table: LostTable, rows: readonly LostRow[]) => number): Saved {
  const saved = { events: 0, deadLetters: 0 };
  const underWay = underWayIn(lost);
  // Waiting events first: otherwise a delivered id could make one a duplicate.
  for (const rows of lotsOf(lost, "events")) {
    const { waiting, delivered } = underWay.apart(rows);
    saved.events += save("events", waiting);
    if (delivered.length > 0) save("delivered", delivered);
  }
  for (const rows of lotsOf(lost, "scheduled")) saved.events += save("scheduled", rows);
  for (const rows of lotsOf(lost, "dead_letters")) saved.deadLetters += save("dead_letters", rows);
  for (const rows of lotsOf(lost, "delivered")) save("delivered", rows);
  return saved;
}

/** Separates waiting events, with the owners of claimed ones, from delivered ones still there. */
function underWayIn(lost: Database) {
  const state = harmless(() => lost.prepare("select claims, delivered from state").get());
  const claims = harmless(() => Object.entries(JSON.parse(state.claims) as StoredClaims));
  const gone = harmless(() => JSON.parse(state.delivered) as readonly [number, ...number[]]);
  const claimers = new Map(
    claims?.flatMap(([owner, [heartbeat, leaseMs, seqs]]) =>
      seqs.map((seq) => [seq, { owner, heartbeat, leaseMs }] as const),
    ),
  );
  const delivered = new Set(gone?.slice(1));
  let doubtful = 0;

  function withClaimer(row: LostRow): LostRow {
    if (claims && gone) return { ...row, claimer: claimers.get(row.seq) };
    const isDoubtful = row.state === "new" ? doubtful++ < MOST_UNDER_WAY : row.state !== "behind";
    return isDoubtful ? { ...row, interrupted: 1 } : row;
  }

  return {
    apart: (rows: readonly LostRow[]) => ({
      waiting: rows.filter(({ seq }) => !delivered.has(seq)).map(withClaimer),
      delivered: rows.filter(({ seq }) => delivered.has(seq)),
    }),
  };
}

/** Each batch is saved by one fsync. */
function* lotsOf(lost: Database, table: LostTable): Generator<readonly LostRow[]> {
  let lot: LostRow[] = [];
  for (const row of readableRowsOf(lost, table)) {
    lot.push(row);
    if (lot.length < AT_ONCE) continue;
    yield lot;
    lot = [];
  }
  if (lot.length > 0) yield lot;
}

/**
 * All readable rows: in order up to the first that is not, then one by one those behind it. The
 * rows of damaged pages are lost. So is what lies between two of them, more than `MOST_TRIED`
 * behind the first.
 */
function* readableRowsOf(lost: Database, table: LostTable): Generator<LostRow> {
  let last = -1;
  for (const rows of walk(lost, `select * from ${table} where seq > ? order by seq limit ?`, last)) {
    last = rows.at(-1)?.seq ?? last;
    yield* rows;
  }
  const behind: number[] = [];
  let isReached = false;
  const fromTheEnd = `select seq from ${table} where seq < ? order by seq desc limit ?`;
  for (const rows of walk(lost, fromTheEnd, Number.MAX_SAFE_INTEGER)) {
    for (const { seq } of rows) if (seq > last) behind.push(seq);
    isReached = (rows.at(-1)?.seq ?? last) <= last;
    if (isReached) break;
  }
  // No walk leads to a row between two damaged places: try each number.
  const gap = Math.min((behind.at(-1) ?? Number.MAX_SAFE_INTEGER) - last - 1, MOST_TRIED);
  const between = Array.from({ length: isReached ? 0 : gap }, (_, nth) => last + 1 + nth);
  const bySeq = harmless(() => lost.prepare(`select * from ${table} where seq = ?`));
  for (const seq of [...between, ...behind.reverse()]) {
    const row = harmless(() => bySeq?.get(seq));
    if (row) yield row;
  }
}

/** The rows of a statement after `from`, up to the first that cannot be read. */
function* walk(lost: Database, sql: string, from: number): Generator<readonly LostRow[]> {
  const statement = harmless(() => lost.prepare(sql));
  let seq = from;
  for (let limit = AT_ONCE; statement; ) {
    const rows: readonly LostRow[] | undefined = harmless(() => statement.all(seq, limit));
    if (rows) yield rows;
    else if (limit === 1) return;
    // One unreadable row hides the others of its batch: go on one by one.
    if (!rows) limit = 1;
    else if (rows.length < limit) return;
    else seq = (rows.at(-1) as LostRow).seq;
  }
}

/** Stores rows of a lost file as they were, within a transaction. Returns how many were new. */
export function saveRows(
  { cache, ids, queues, letters, live, scheduled }: Tables,
  table: LostTable,
  rows: readonly LostRow[],
): number {
  function save(row: LostRow, destination: number): boolean {
    const { known } = cache;
    const { id, kind = "payment" } = row as LostRow & Pick<EventRow, "id" | "kind">;
    const event = table === "delivered" ? undefined : eventIfSound(row);
    if (!isEventId(id) || !LEAST_URGENT_FIRST.includes(kind)) return false;
    if ((table !== "delivered" && !event) || !ids.learn(destination, id)) return false;
    if (!event && row.cancelled) ids.keepCancelled(destination, id);
    else if (!event) ids.keepDelivered(destination, kind, id);
    else if (table === "scheduled") scheduled.put({ ...(row as unknown as ScheduledRow), destination });
    else if (table === "dead_letters")
      letters.put({ ...(row as unknown as LetterRow), destination, seq: null });
    else {
      const { claimer, ...columns } = row as unknown as NewRow & Pick<LostRow, "claimer">;
      const place = {
        seq: known.nextSeq(),
        destination,
        endpoint: endpointOf(event),
        urgency: priorityOf(kind),
      };
      const saved: NewRow = { ...columns, ...place };
      live.put(saved);
      // It stays claimed: its owner may be sending it.
      if (claimer) {
        queues.enterAsHeads([saved]);
        known.claims.add(saved.seq, claimer);
      }
    }
    return true;
  }

  function saveIfSound(row: LostRow, destination: number): boolean {
    try {
      return save(row, destination);
    } catch (error) {
      if (failureOf(error) !== "other") throw error;
      // The row has a value that its column does not take.
      ids.forget(destination, String(row.id));
      return false;
    }
  }

  return rows.filter((row) => {
    const { destination } = row;
    return typeof destination === "number" && destination > 0 && saveIfSound(row, destination);
  }).length;
}

/** A damaged file may hold anything: `undefined` if the row is no event. */
function eventIfSound({ id, kind, data, created_at, size }: LostRow): OutboxEvent | undefined {
  if (typeof size !== "number") return undefined;
  const parsed = objectFromJson(String(data));
  return parsed && ({ id, kind, data: parsed, createdAt: created_at } as unknown as OutboxEvent);
}
