import { type Database, type Statements, USUAL, type Value, type Words } from "../../queue/database.js";
import { byVersion, statementsTo, type Types, tableWith } from "../../queue/tables.js";
import { type Database as Connection, transactionsOf } from "./sqlite.js";

const TYPES: Types = {
  // Not `autoincrement`, which writes a page more for each pass. If the last row is deleted, its
  // number is given again: so a verdict looks at its event's id, too.
  SEQUENCE: "integer primary key",
  NUMBER: "integer",
  SMALL: "integer",
  AMOUNT: "real",
  TEXT: "text",
  WORD: "text",
  NAME: "text",
};

const words: Words = {
  ...USUAL,
  returning: false,
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

/** `columns`: empty if the rows are objects already. */
function rowsOf<Row>(columns: readonly string[], rows: readonly Value[][]): Row[] {
  if (columns.length === 0) return rows as Row[];
  return rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let nth = 0; nth < columns.length; nth++) row[columns[nth] as string] = values[nth];
    return row as Row;
  });
}

export type SqliteDatabase = ReturnType<typeof createDialect>;

/**
 * The queue's database over one connection at a time. Its statements run at once: what awaits them
 * yields microtasks alone.
 */
export function createDialect(now: () => number, onStatement: (text: string) => void = () => {}) {
  const prepared = new Map<string, ReturnType<typeof prepare>>();
  let connection: { readonly db: Connection } & ReturnType<typeof transactionsOf>;
  let time = 0;

  // Values by position, and rows as arrays: by name, both take twice as long (measured). A later
  // version may add a column to a table: so what is selected beside `e.*` comes before it.
  function prepare(text: string) {
    const to = connection.db.prepare(text.replaceAll(words.now, "?"));
    const columns = to.setReturnArrays && to.columns ? to.columns().map(({ name }) => name) : [];
    if (columns.length > 0) to.setReturnArrays?.(true);
    return { to, columns, marks: text.includes(words.now) ? text.match(/\?|:now/g) : null };
  }

  function run<T>(
    text: string,
    values: readonly Value[],
    call: (all: readonly Value[], statement: ReturnType<typeof prepare>) => T,
  ): T {
    onStatement(text);
    let statement = prepared.get(text);
    if (!statement) {
      if (prepared.size >= KEPT) prepared.clear();
      statement = prepare(text);
      prepared.set(text, statement);
    }
    let nth = 0;
    const all = statement.marks?.map((mark) => (mark === words.now ? time : (values[nth++] as Value)));
    return call(all ?? values, statement);
  }

  const statements: Statements = {
    rows: async (text, values = []) =>
      run(text, values, (all, { to, columns }) => rowsOf(columns, to.all(...all))),
    write: async (text, values = []) => run(text, values, (all, { to }) => Number(to.run(...all).changes)),
    // One statement with many rows takes 1.5 times as long. So does one that returns its rows (measured).
    insertOne: async (text, values) =>
      run(text, values, (all, { to }) => {
        const { changes, lastInsertRowid } = to.run(...all);
        return Number(changes) > 0 ? Number(lastInsertRowid) : 0;
      }),
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
