import { createRequire } from "node:module";
import { join } from "node:path";
import { type Database, findEngine, type Statement, type Value } from "../../src/outbox/disk/file/sqlite.js";

type Open = new (path: string) => Database;

const module = createRequire(import.meta.url)(
  findEngine([import.meta.url, process.argv[1], join(process.cwd(), "any.js")]),
);
const Sqlite: Open = module.Database ?? module.DatabaseSync;

const ERRORS = {
  full: { errcode: 13, message: "database or disk is full" },
  ioerr: { errcode: 10, message: "disk I/O error" },
  busy: { errcode: 5, message: "database is locked" },
} as const;

/** How a process meets its disk at this moment. */
export type DiskFault = (typeof DISK_FAULTS)[number];
export const DISK_FAULTS = ["full", "ioerr", "busy", "lost", "slow", "stuck"] as const;

/** A process, as its disk knows it. */
export interface DiskUser {
  diskFault: DiskFault | undefined;
  /** A number from 0 up to 1. */
  random(): number;
  /** Its threads: each ends at once when it is called. */
  readonly threads: Set<(error: Error) => void>;
}

/** A spool file in memory, which outlives its process. */
export interface VirtualSpool {
  readonly writer: DiskUser;
  content: Buffer;
  /** How often it was changed. */
  version: number;
  isDeleted: boolean;
}

const STATEMENTS_OF_A_TRANSACTION = 20;
export const SLOWEST_MS = 5_000;
export const STUCK_MS = 30_000;

interface File {
  readonly db: Database;
  readonly statements: Map<string, Statement>;
}

/**
 * A machine's disk: real SQLite, in memory. All processes share one connection to each file, for
 * what they do there they do in one transaction each, one after the other. Every process sees its
 * own faults.
 */
export class Disk {
  transactions = 0;
  /** The spool files, by their paths. */
  readonly spools = new Map<string, VirtualSpool>();
  /** Copies, as read by a process that took the writer for dead. */
  readonly spoolsTakenIn: (VirtualSpool & { readonly readAt: number })[] = [];
  /** Called after each transaction, with the connection: where a test plants a bug. */
  afterCommit: ((db: Database, nth: number) => void) | undefined;
  readonly #files = new Map<string, File>();
  /** Of each lock of a process, whether its holder lives. */
  readonly #owners = new Map<string, () => boolean>();

  /**
   * What a process gets that opens the file. `wait` makes its thread do nothing for so long;
   * `isAlive`, another function for each connection, says whether that thread lives.
   */
  open(path: string, host: DiskUser, wait: (ms: number) => void, isAlive = () => true): Database {
    if (path === ":memory:") return new Sqlite(path);
    if (path.includes(".owner-")) return this.#ownerLock(path, isAlive);
    let file = this.#files.get(path);
    if (!file) {
      file = { db: new Sqlite(":memory:"), statements: new Map() };
      file.db.exec("pragma temp_store = memory");
      this.#files.set(path, file);
    }
    return this.#faulty(file, host, wait);
  }

  close(): void {
    for (const { db } of this.#files.values()) db.close();
    this.#files.clear();
  }

  /** The operating system drops it with its process. */
  #ownerLock(path: string, isAlive: () => boolean): Database {
    const release = () => {
      if (this.#owners.get(path) === isAlive) this.#owners.delete(path);
    };
    const exec = () => {
      const holds = this.#owners.get(path);
      if (holds !== isAlive && holds?.()) fail("busy");
      this.#owners.set(path, isAlive);
    };
    return { exec, prepare: () => telling(() => ({})), close: release };
  }

  #faulty(file: File, host: DiskUser, wait: (ms: number) => void): Database {
    const { db, statements } = file;
    /** How many more statements succeed; infinite if all do. */
    let left = Number.POSITIVE_INFINITY;

    const step = () => {
      if (--left < 0) fail(host.diskFault);
    };
    const counted =
      <T>(call: (...values: Value[]) => T) =>
      (...values: Value[]): T => {
        step();
        return call(...values);
      };
    const begin = () => {
      const { diskFault } = host;
      left = Number.POSITIVE_INFINITY;
      wait(latencyMs(host));
      if (diskFault === "busy") fail(diskFault);
      const failsWithin = diskFault === "full" || diskFault === "ioerr";
      if (failsWithin) left = Math.floor(host.random() * STATEMENTS_OF_A_TRANSACTION);
      db.exec("begin immediate");
    };
    const commit = () => {
      step();
      // However few statements there were: it fails.
      if (Number.isFinite(left)) fail(host.diskFault);
      db.exec("commit");
      this.afterCommit?.(db, ++this.transactions);
      if (host.diskFault === "lost" && host.random() < 0.5) {
        for (const end of [...host.threads]) end(new Error("the thread was ended before it could answer"));
      }
    };

    const exec = (sql: string) => {
      if (sql !== "rollback") step();
      // If a schedule leaves little bounds, it is the outbox that has to keep within it.
      db.exec(sql.replace(/pragma max_page_count[^;]*;/, ""));
    };

    const prepare = (sql: string): Statement => {
      // A file that is in memory keeps no log.
      if (sql === "pragma journal_mode") return telling(() => ({ journal_mode: "wal" }));
      if (sql === "begin immediate") return doing(begin);
      if (sql === "commit") return doing(commit);
      const statement = statements.get(sql) ?? db.prepare(sql);
      statements.set(sql, statement);
      return {
        run: counted((...values) => statement.run(...values)),
        get: counted((...values) => statement.get(...values)),
        all: counted((...values) => statement.all(...values)),
      };
    };
    return { exec, prepare, close() {} };
  }
}

function latencyMs({ diskFault, random }: DiskUser): number {
  if (diskFault === "slow") return random() * SLOWEST_MS;
  return diskFault === "stuck" ? STUCK_MS : random() * 2;
}

function telling(row: () => object): Statement {
  return { run: () => ({ changes: 0, lastInsertRowid: 0 }), get: row, all: () => [row()] };
}

function doing(task: () => void): Statement {
  return {
    ...telling(() => ({})),
    run() {
      task();
      return { changes: 0, lastInsertRowid: 0 };
    },
  };
}

function fail(fault: DiskFault | undefined): void {
  if (fault === undefined || fault === "slow" || fault === "stuck" || fault === "lost") return;
  const { errcode, message } = ERRORS[fault];
  throw Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}
