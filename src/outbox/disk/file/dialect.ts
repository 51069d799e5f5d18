import { type Database, type Statements, USUAL, type Value, type Words } from "../../queue/database.js";
import { byVersion, statementsTo, type Types, tableWith } from "../../queue/tables.js";
import { type Database as Connection, type Statement, transactionsOf } from "./sqlite.js";

const TYPES: Types = {
  SEQUENCE: "integer primary key autoincrement",
  NUMBER: "integer",
  SMALL: "integer",
  AMOUNT: "real",
  TEXT: "text",
  WORD: "text",
  NAME: "text",
};

const words: Words = {
  ...USUAL,
  events: "events",
  queues: "queues",
  migrations: "migrations",
  // A value of each statement that has it: the time at which its transaction began.
  now: ":now",
  forUpdate: "",
  skipLocked: "",
  // Without statistics, SQLite takes the index of other states for a visitor's events.
  byVisitorAndKind: " indexed by events_by_visitor",
  // It would read all settled events, too.
  ofQueued: " indexed by events_by_visitor",
  byAlias: (column) => ` indexed by events_by_${column}`,
};

/** The n-th leads to the tables' version n. A published one never changes. */
export function migrations(): readonly string[] {
  // Here, no transaction gives a statement its time.
  const now = "cast(unixepoch() * 1000 as integer)";
  return byVersion((version) =>
    statementsTo(version, { ...words, now }, TYPES, (table) =>
      tableWith(table, words, table.name === "queues" ? " strict, without rowid" : " strict"),
    ).join(";\n"),
  );
}

// Each list of values has a length: many make many texts.
const KEPT = 400;

// Of all files: while one waits for the lock, its thread does nothing else.
let last: Promise<unknown> = Promise.resolve();

export type SqliteDatabase = ReturnType<typeof createDialect>;

/**
 * The queue's database over one connection at a time. Its statements run at once: what awaits them
 * yields microtasks alone.
 */
export function createDialect(now: () => number, onStatement: (text: string) => void = () => {}) {
  const prepared = new Map<string, { readonly hasTime: boolean; readonly to: Statement }>();
  let connection: { readonly db: Connection } & ReturnType<typeof transactionsOf>;
  let time = 0;

  function run<T>(text: string, values: readonly Value[], call: (all: never[], to: Statement) => T): T {
    onStatement(text);
    let statement = prepared.get(text);
    if (!statement) {
      if (prepared.size >= KEPT) prepared.clear();
      statement = { hasTime: text.includes(words.now), to: connection.db.prepare(text) };
      prepared.set(text, statement);
    }
    return call((statement.hasTime ? [{ now: time }, ...values] : values) as never[], statement.to);
  }

  const statements: Statements = {
    rows: async (text, values = []) => run(text, values, (all, to) => to.all(...all)),
    write: async (text, values = []) => run(text, values, (all, to) => Number(to.run(...all).changes)),
  };

  async function passAlone<T>(work: () => Promise<T>): Promise<T> {
    const { begin, commit, rollback } = connection;
    begin();
    time = now();
    try {
      const result = await work();
      commit();
      return result;
    } catch (error) {
      rollback();
      throw error;
    }
  }

  return {
    words,
    ...statements,
    /** Only within a pass, and a part of it. */
    transaction: (work) => work(statements),
    ready: async () => {},
    isLost: () => false,
    isBusy: () => false,
    cautions: async () => [],
    /** From here on, statements go to this connection. */
    use(db: Connection): void {
      prepared.clear();
      connection = { db, ...transactionsOf(db) };
    },
    /** Runs all that is asked for in `work` in one transaction, and one pass after the other. */
    pass<T>(work: () => Promise<T>): Promise<T> {
      const result = last.then(() => passAlone(work));
      last = result.catch(() => {});
      return result;
    },
  } satisfies Database & Record<string, unknown>;
}
