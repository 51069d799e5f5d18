import type { Cluster } from "../../../test/helpers/cluster.js";
import type { MariaDb } from "../../../test/helpers/mariadb.js";

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
  /** Whether each statement is a transaction of its own. */
  setAutocommit(isOn: boolean): Promise<void>;
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
  /** Empties the outbox's tables, or removes them. */
  clear(how: "empty" | "drop"): Promise<void>;
  /** The server's program, whichever it is. */
  readonly program: Pick<Cluster | MariaDb, "halt" | "resume" | "destroy">;
}

export const PREFIX = "sim_";
export const SCHEMA = "sim";

/** Sets something of a session if it is not so yet. */
export function setting(
  isSo: boolean,
  set: (wanted: boolean) => Promise<unknown>,
): (wanted: boolean) => Promise<void> {
  return async (wanted) => {
    if (wanted === isSo) return;
    await set(wanted);
    isSo = wanted;
  };
}

/** A session for looks from outside. After a restart of the server it opens a new one. */
export function createMonitor(open: () => Promise<Session>): (text: string) => Promise<Result> {
  let session: Session | undefined;
  let last: Promise<Result> = Promise.resolve();

  async function run(text: string): Promise<Result> {
    if (!session || session.hasEnded) session = await open();
    return session.run({ text }, 0);
  }

  return (text) => {
    last = last.catch(() => {}).then(() => run(text));
    return last;
  };
}
