export type SqlKind = "mysql" | "postgres";

/** A statement as the outbox gives it to its pool: `sql` to mysql2, `text` and `values` to pg. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  readonly options?: object;
}

/** What the driver resolves to. */
export type Result = unknown;

/** A connection to the server. */
export interface Session {
  /** The server's number of it. */
  readonly number: number;
  /** It has ended, by whichever side. */
  readonly hasEnded: boolean;
  /** Runs one statement, for which it is this time, in milliseconds since the epoch. */
  run(statement: Statement, nowMs: number): Promise<Result>;
  /** Whether transactions that begin from here on take no writes. */
  setReadOnly(isReadOnly: boolean): Promise<void>;
  /** Undoes an open transaction, and gives its locks away. */
  reset(): Promise<void>;
  end(): void;
}

/** A database server that runs for the simulator alone. */
export interface RealServer {
  readonly kind: SqlKind;
  session(): Promise<Session>;
  /** The numbers of the sessions that wait for a lock at this moment. */
  waiting(): Promise<readonly number[]>;
  /** Ends what a session does at this moment. */
  cancel(session: Session): Promise<void>;
  /** Empties the outbox's tables. */
  clear(): Promise<void>;
  destroy(): Promise<void>;
}

export const PREFIX = "sim_";
export const SCHEMA = "sim";

/** Makes a session's transactions read-only, or no longer so, if that is not so yet. */
export function readOnly(set: (wanted: boolean) => Promise<unknown>): Session["setReadOnly"] {
  let isSo = false;
  return async (wanted) => {
    if (wanted === isSo) return;
    await set(wanted);
    isSo = wanted;
  };
}

/** A session for looks from outside. */
export function createMonitor(open: () => Promise<Session>): (text: string) => Promise<Result> {
  const opened = open();
  let last: Promise<Result> = opened;
  return (text) => {
    last = last.catch(() => {}).then(async () => (await opened).run({ text }, 0));
    return last;
  };
}
