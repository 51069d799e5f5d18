import type { OutboxError } from "../../shared/errors.js";
import { sleep } from "../../shared/real-timers.js";
import { inTime, repeatWhereLost } from "./connections.js";
import type { Database, Statements } from "./database.js";
import { NEWEST_VERSION, TEXTS } from "./tables.js";

type InsertWithin = NonNullable<Database["insertWithin"]>;

/** What one kind of server does in its own way. A database within this process may be one, too. */
export interface Server extends Pick<Database, "words" | "isBusy"> {
  /** Lends a connection. `giveBack` closes it if it `isBroken`: what it is in the middle of is unknown. */
  lend(): Promise<{ readonly on: Statements; giveBack(isBroken: boolean): void }>;
  /** Runs a `select` outside a transaction, and leaves none open. */
  read(on: Statements, ...select: Parameters<Statements["rows"]>): ReturnType<Statements["rows"]>;
  /** Begins a transaction, which `commit` or `rollback` ends. Resolves to what is to be done after that. */
  begin(on: Statements, isPatient: boolean): Promise<() => unknown>;
  /** The tables' version; 0: there are none. */
  versionIn(on: Statements): Promise<number>;
  /** Runs work while no other process does, and commits. If it fails, it is undone, or can be run again. */
  alone(on: Statements, work: () => Promise<void>): Promise<void>;
  statementsTo(version: number): readonly string[];
  /** What is wrong with the tables, if they must not be made. */
  missing(): OutboxError;
  newer(version: number): OutboxError;
  insertWithin(...asked: [...Parameters<InsertWithin>, ready: Database["ready"]]): ReturnType<InsertWithin>;
  cautionsOf(statements: Statements): ReturnType<Database["cautions"]>;
  /** Whether the connection has ended: how far the request got is unknown. */
  hasEnded(error: unknown): boolean;
  isDeadlock(error: unknown): boolean;
  /** An error with advice, if users can do something about it. */
  problemOf(error: unknown): unknown;
  /** The server does not answer. */
  silence(): OutboxError;
}

const ATTEMPTS = 6;
const PAUSE_MS = 5;

/** A database server of the host's, through the host's own pool. */
export function openServer(server: Server, options: { readonly migrate: boolean }): Database {
  /** Errors of existing connections. If none can be made, the server is away. */
  const lost = new WeakSet<object>();
  const isLost = (error: unknown) => lost.has(Object(error));
  let readiness: Promise<void> | undefined;

  /** Runs work on a lent connection. After an error, closes it. */
  function on<T>(work: (on: Statements) => Promise<T>): Promise<T> {
    let end = (_isBroken: boolean) => {};
    let isLate = false;
    const done = server.lend().then(async (lent) => {
      end = (isBroken) => {
        end = () => {};
        lent.giveBack(isBroken);
      };
      try {
        if (isLate) throw server.silence();
        const result = await work(withNumbers(lent.on));
        end(false);
        return result;
      } catch (error) {
        if (server.hasEnded(error)) lost.add(Object(error));
        end(!isLate);
        throw error;
      }
    });
    return inTime(done, () => {
      isLate = true;
      end(true);
      return server.silence();
    });
  }

  async function inTransaction<T>(work: (tx: Statements) => Promise<T>, isPatient: boolean): Promise<T> {
    const outcome = await on(async (tx) => {
      const restore = await server.begin(tx, isPatient);
      try {
        const result = await work(tx);
        await tx.write("commit");
        await restore();
        return { result };
      } catch (error) {
        if (server.hasEnded(error)) throw error;
        await tx.write("rollback");
        await restore();
        return { error };
      }
    });
    if ("error" in outcome) throw outcome.error;
    return outcome.result;
  }

  /** Runs a request once the tables are there, and again after a deadlock. */
  async function prepared<T>(request: () => Promise<T>): Promise<T> {
    await database.ready();
    for (let attempt = 1; ; attempt++) {
      try {
        return await request();
      } catch (error) {
        if (!server.isDeadlock(error) || attempt === ATTEMPTS) throw told(error);
        await sleep(Math.random() * PAUSE_MS * 2 ** attempt, undefined, { ref: false });
      }
    }
  }

  function told(error: unknown): unknown {
    const problem = server.problemOf(error);
    if (isLost(error)) lost.add(Object(problem));
    // Tables that have vanished are made again, if that is allowed.
    if (String(Object(problem).code).endsWith("_TABLES")) readiness = undefined;
    return problem;
  }

  async function migrate(tx: Statements): Promise<void> {
    const version = await server.versionIn(tx);
    if (version > NEWEST_VERSION) throw server.newer(version);
    if (version === NEWEST_VERSION) return;
    if (!options.migrate) throw server.missing();
    await server.alone(tx, async () => {
      // Another process may have made them meanwhile.
      for (let next = (await server.versionIn(tx)) + 1; next <= NEWEST_VERSION; next++) {
        for (const statement of server.statementsTo(next)) await tx.write(statement);
      }
    });
  }

  const database: Database = {
    words: server.words,
    rows: (...select) =>
      repeatWhereLost(() => prepared(() => on((client) => server.read(client, ...select))), isLost) as never,
    write: (...asked) => repeatWhereLost(() => database.transaction((tx) => tx.write(...asked)), isLost),
    transaction: (work, { isPatient } = { isPatient: true }) =>
      prepared(() => inTransaction(work, isPatient)),
    insertWithin: (transaction, row) => server.insertWithin(transaction, row, database.ready),
    ready() {
      readiness ??= repeatWhereLost(() => on(migrate), isLost).catch((error) => {
        readiness = undefined;
        throw server.problemOf(error);
      });
      return readiness;
    },
    isLost,
    isBusy: server.isBusy,
    cautions: () => server.cautionsOf(database),
  };
  return database;
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/** Some drivers give some numbers as texts. By the names of columns: a text that looks like a number is one elsewhere. */
function withNumbers({ rows, write }: Statements): Statements {
  return {
    write,
    async rows(...select) {
      const found = await rows(...select);
      for (const row of found) {
        for (const [name, value] of Object.entries(row))
          if (typeof value === "string" && !TEXTS.has(name) && NUMBER.test(value)) row[name] = Number(value);
      }
      return found as never;
    },
  };
}
