import type { StoredClaims } from "./claimed-events.js";
import type { LostRow, LostTable } from "./saving.js";
import { MIGRATIONS } from "./schema.js";
import type { Database } from "./sqlite.js";
import type { Store } from "./store.js";

/** How much of a lost file was saved. */
export interface Saved {
  readonly events: number;
  readonly deadLetters: number;
}

const AT_ONCE = 200;
// For a file that does not say which events were under way, or delivered and not deleted yet: each head of a queue is in doubt
// then, and so are the first that have entered none. Twenty processes have claimed no more of these.
const MOST_UNDER_WAY = 1_024;
// A receipt waits for it: with 50,000, a small damaged file took more than the second that a receipt may take.
const MOST_TRIED = 2_500;

/**
 * Saves what can be read of a file that was deleted, replaced or damaged: the events that wait, the dead letters, and the
 * ids of what was delivered. What the other file knows already is skipped: another process may have saved it.
 *
 * @throws what saving throws. What cannot be read is left behind.
 */
export function salvage(lost: Database, into: Store): Saved {
  const saved = { events: 0, deadLetters: 0 };
  if (attempt(() => lost.prepare("pragma user_version").get().user_version) !== MIGRATIONS.length)
    return saved;
  const underWay = underWayIn(lost);
  // Waiting events first: a delivered id must not make one of them look known.
  for (const rows of lotsOf(lost, "events")) {
    const { waiting, delivered } = underWay.apart(rows);
    saved.events += into.save("events", waiting);
    if (delivered.length > 0) into.save("delivered", delivered);
  }
  for (const rows of lotsOf(lost, "scheduled")) saved.events += into.save("scheduled", rows);
  for (const rows of lotsOf(lost, "dead_letters")) saved.deadLetters += into.save("dead_letters", rows);
  for (const rows of lotsOf(lost, "delivered")) into.save("delivered", rows);
  return saved;
}

/** Separates waiting events from delivered ones whose rows are still there, and finds the owners of claimed ones. */
function underWayIn(lost: Database) {
  const state = attempt(() => lost.prepare("select claims, delivered from state").get());
  const claims = attempt(() => Object.entries(JSON.parse(state.claims) as StoredClaims));
  const gone = attempt(() => JSON.parse(state.delivered) as readonly [number, ...number[]]);
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

/** All rows that can be read, some at a time: each lot is saved by one fsync. */
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
 * All rows that can be read: in order up to the first that cannot, and then one by one those behind it. Lost are the rows of damaged
 * pages, and what is between two of them and further behind the first than `MOST_TRIED`.
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
  // Neither way leads to a row between two damaged places. So each number is tried.
  const gap = Math.min((behind.at(-1) ?? Number.MAX_SAFE_INTEGER) - last - 1, MOST_TRIED);
  const between = Array.from({ length: isReached ? 0 : gap }, (_, nth) => last + 1 + nth);
  const bySeq = attempt(() => lost.prepare(`select * from ${table} where seq = ?`));
  for (const seq of [...between, ...behind.reverse()]) {
    const row = attempt(() => bySeq?.get(seq));
    if (row) yield row;
  }
}

/** The rows of a statement, from a sequence number on, up to the first that cannot be read. */
function* walk(lost: Database, sql: string, from: number): Generator<readonly LostRow[]> {
  const statement = attempt(() => lost.prepare(sql));
  let seq = from;
  for (let limit = AT_ONCE; statement; ) {
    const rows: readonly LostRow[] | undefined = attempt(() => statement.all(seq, limit));
    if (rows) yield rows;
    else if (limit === 1) return;
    // One unreadable row hides the others of its batch: go on one by one.
    if (!rows) limit = 1;
    else if (rows.length < limit) return;
    else seq = (rows.at(-1) as LostRow).seq;
  }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
