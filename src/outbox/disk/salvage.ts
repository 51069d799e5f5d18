import { LEAST_URGENT_FIRST } from "../../kinds.js";
import { DEATH_REASONS } from "../dead-letters.js";
import type { StoredClaims } from "./claimed-events.js";
import { GROUPS } from "./rows.js";
import type { LostRow } from "./saving.js";
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

/**
 * Saves what can be read of a file that was deleted, replaced or damaged: the events that wait, the dead letters, and the
 * ids of what was delivered. What the other file knows already is skipped: another process may have saved it.
 *
 * @throws what saving throws. What cannot be read is left behind.
 */
export function salvage(lost: Database, into: Store): Saved {
  const saved = { events: 0, deadLetters: 0 };
  const numbers = destinationsOf(lost);
  if (!numbers) return saved;
  const dead = numbers.flatMap((each) =>
    LEAST_URGENT_FIRST.flatMap((kind) => DEATH_REASONS.map((reason) => [each, kind, reason])),
  );
  const underWay = underWayIn(lost);
  // Waiting events first: a delivered id must not make one of them look known.
  for (const rows of lotsOf(lost, "events", {
    index: "events_urgencies",
    where: "destination = ? and urgency = ? and kind = ?",
    groups: numbers.flatMap((each) => GROUPS.map(({ rank, kind }) => [each, rank, kind])),
  })) {
    const { waiting, delivered } = underWay.apart(rows);
    saved.events += into.save("events", waiting);
    if (delivered.length > 0) into.save("delivered", delivered);
  }
  const meant = {
    index: "dead_letters_meant",
    where: "destination = ? and kind = ? and reason = ?",
    groups: dead,
  };
  for (const rows of lotsOf(lost, "dead_letters", meant)) {
    saved.deadLetters += into.save("dead_letters", rows);
  }
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

/** The destinations of the rows, as far as the indexes can be read; `undefined` if the file is of another version. */
function destinationsOf(lost: Database): readonly number[] | undefined {
  const version = attempt(() => lost.prepare("pragma user_version").get().user_version);
  if (version !== MIGRATIONS.length) return undefined;
  const found = [
    "select distinct destination from events indexed by events_urgencies",
    "select distinct destination from dead_letters indexed by dead_letters_meant",
  ].flatMap((sql) => attempt(() => lost.prepare(sql).all()) ?? []);
  return [...new Set(found.map(({ destination }) => destination as number))];
}

interface Hints {
  readonly index: string;
  readonly where: string;
  /** The keys to look up in the index, which may be intact where the table is not. */
  readonly groups: readonly (readonly (string | number)[])[];
}

/** All rows that can be read, some at a time: each lot is saved by one fsync. */
function* lotsOf(...source: Parameters<typeof readableRowsOf>): Generator<readonly LostRow[]> {
  let lot: LostRow[] = [];
  for (const row of readableRowsOf(...source)) {
    lot.push(row);
    if (lot.length < AT_ONCE) continue;
    yield lot;
    lot = [];
  }
  if (lot.length > 0) yield lot;
}

/** All rows that can be read: in order up to the first that cannot, and then one by one those behind it. */
function* readableRowsOf(lost: Database, table: string, hints?: Hints): Generator<LostRow> {
  let last = -1;
  for (const rows of walk(lost, `select * from ${table} where seq > ? order by seq limit ?`, [], last)) {
    last = rows.at(-1)?.seq ?? last;
    yield* rows;
  }
  const behind = new Set<number>();
  const fromTheEnd = `select seq from ${table} where seq < ? order by seq desc limit ?`;
  for (const rows of walk(lost, fromTheEnd, [], Number.MAX_SAFE_INTEGER)) {
    for (const { seq } of rows) if (seq > last) behind.add(seq);
    if ((rows.at(-1)?.seq ?? 0) <= last) break;
  }
  for (const group of hints?.groups ?? []) {
    const byIndex = `
      select seq from ${table} indexed by ${hints?.index} where ${hints?.where} and seq > ? order by seq limit ?`;
    for (const rows of walk(lost, byIndex, group, last)) for (const { seq } of rows) behind.add(seq);
  }
  const bySeq = attempt(() => lost.prepare(`select * from ${table} where seq = ?`));
  for (const seq of [...behind].sort((a, b) => a - b)) {
    const row = attempt(() => bySeq?.get(seq));
    if (row) yield row;
  }
}

/** The rows of a statement, from a sequence number on, up to the first that cannot be read. */
function* walk(
  lost: Database,
  sql: string,
  values: readonly (string | number)[],
  from: number,
): Generator<readonly LostRow[]> {
  const statement = attempt(() => lost.prepare(sql));
  let seq = from;
  for (let limit = AT_ONCE; statement; ) {
    const rows: readonly LostRow[] | undefined = attempt(() => statement.all(...values, seq, limit));
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
