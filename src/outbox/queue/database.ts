/** A value of a statement. */
export type Value = string | number | null;

/** Runs statements. Their texts have a `?` for each value, and no other. */
export interface Statements {
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  rows<Row = any>(text: string, values?: readonly Value[]): Promise<Row[]>;
  /** Resolves to the number of rows that it has written. */
  write(text: string, values?: readonly Value[]): Promise<number>;
  /**
   * Inserts one row. Resolves to its `seq`, or to 0 if the row is there already. Absent if one
   * statement with many rows is faster.
   */
  insertOne?(text: string, values: readonly Value[]): Promise<number>;
}

/** A statement that is yet to be run. */
export interface Statement {
  readonly text: string;
  readonly values: readonly Value[];
}

/**
 * A database, as the queue needs it: this is what a dialect implements. A statement outside
 * `transaction` is a transaction of its own, repeated if its connection was lost: twice must be as
 * good as once. Whatever is committed is on the disk before a call resolves.
 */
export interface Database extends Statements {
  readonly words: Words;
  /**
   * Runs work in one transaction: all of it or nothing. Each statement sees what was committed
   * before it began. Runs it again after a deadlock, but not if the connection was lost.
   *
   * @param options.isPatient `false`: fails with an error that `isBusy` knows if a statement has to
   * wait for another's transaction for long.
   */
  transaction<T>(work: (tx: Statements) => Promise<T>, options?: { readonly isPatient: boolean }): Promise<T>;
  /**
   * Inserts a row in the host's own transaction, which goes on even if that fails. Absent if the
   * database is the outbox's alone.
   *
   * @param row.known selects the row that may be there.
   * @returns `false` if the row is there.
   * @throws OutboxError
   */
  insertWithin?(
    transaction: unknown,
    row: { readonly known: Statement; readonly insert: Statement },
  ): Promise<boolean>;
  /**
   * Resolves once the tables are right. Tries anew at each call until they are. Of several
   * processes, one makes them. Rejects with `…_TABLES` if it has no right to make them, with
   * `…_NEWER` if a later version has made them.
   */
  ready(): Promise<void>;
  /** Whether a connection was lost: how far its request got is unknown. */
  isLost(error: unknown): boolean;
  /** Whether an impatient transaction has waited too long for another one. */
  isBusy(error: unknown): boolean;
  /** By which settings the server may lose commits, in words. */
  cautions(): Promise<readonly string[]>;
}

/** The few words in which the SQL of databases differs. */
export interface Words {
  /** The quoted names of the tables. */
  readonly events: string;
  readonly queues: string;
  readonly migrations: string;
  /** The database's time at the begin of the statement or of the transaction, in ms since the epoch. */
  readonly now: string;
  /** After a `select`: locks its rows. Empty if transactions exclude each other. */
  readonly forUpdate: string;
  /** Instead of `forUpdate`: passes over rows that another transaction has locked. */
  readonly skipLocked: string;
  /**
   * After the table's name and alias: makes the planner use an index. Each prevents a slow plan.
   */
  readonly byVisitor: string;
  readonly byVisitorAndKind: string;
  readonly ofQueued: string;
  readonly byAlias: (column: "alias" | "alias_2") => string;
  /** So many values, as a table with one column. */
  readonly list: (length: number) => string;
  /**
   * After an `insert`: leaves rows alone that are there already. `column` is one of the table's.
   */
  readonly orIgnore: (column: string) => string;
  /** Whether an `insert` of many rows is to return them. */
  readonly returning: boolean;
  /** Around the columns and values of an `insert into queues`: changes rows that are there. */
  readonly queueAlias: string;
  readonly orUpdate: string;
  /** Then: a column of the row that is there, and of the one that was to be inserted. */
  readonly old: (column: string) => string;
  readonly given: (column: string) => string;
}

/** The words of most databases. A dialect replaces those that it lacks. */
export const USUAL = {
  forUpdate: " for update",
  skipLocked: " for update skip locked",
  byVisitor: "",
  byVisitorAndKind: "",
  ofQueued: "",
  byAlias: () => "",
  list: (length: number) => `values ${Array(length).fill("(?)").join(", ")}`,
  orIgnore: () => "on conflict do nothing",
  returning: true,
  queueAlias: " as q",
  orUpdate: "on conflict (visitor) do update set",
  old: (column: string) => `q.${column}`,
  given: (column: string) => `excluded.${column}`,
} satisfies Partial<Words>;

/** Whose events are meant: those of one client id, or all as long as it is `undefined`. */
export class Scope {
  clientId: number | undefined;

  constructor(clientId?: number) {
    this.clientId = clientId;
  }

  /** SQL: the condition that rows of `events` or `queues` are meant. */
  get condition(): string {
    return this.clientId === undefined ? "0 = 0" : `destination = ${this.clientId}`;
  }

  has({ destination }: { readonly destination: number }): boolean {
    return this.clientId === undefined || this.clientId === destination;
  }
}
