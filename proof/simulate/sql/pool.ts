import type { MysqlPool } from "express-affiliate/mysql";
import type { PostgresClient, PostgresPool } from "express-affiliate/postgres";
import { ERRORS } from "./errors.js";
import { type Ends, Link, wayTo } from "./link.js";

const MOST = 10;
const AGAIN_MS = 500;

/** A process's connections, as its driver's pool keeps them. */
export class Pool {
  readonly #all = new Set<Link>();
  readonly #idle: Link[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #ends: Ends;
  #opening = 0;

  constructor(ends: Ends) {
    this.#ends = ends;
  }

  lend(): Promise<Link> {
    return new Promise((resolve, reject) => this.#lend(resolve, reject));
  }

  takeBack(link: Link): void {
    if (!this.#all.has(link)) return;
    this.#idle.push(link);
    this.#waiting.shift()?.();
  }

  drop(link: Link): void {
    link.destroy();
    if (this.#all.delete(link)) this.#waiting.shift()?.();
  }

  /** The process has ended. */
  lose(): void {
    for (const link of this.#all) link.destroy();
    this.#all.clear();
  }

  #lend(resolve: (link: Link) => void, reject: (error: Error) => void): void {
    const { clock, owner, meeting } = this.#ends;
    const again = () => this.#lend(resolve, reject);
    if (meeting.serverFault === "lent") {
      // The host has them all.
      clock.after(owner, AGAIN_MS, again);
      return;
    }
    const idle = this.#idle.pop();
    if (idle) {
      resolve(idle);
      return;
    }
    if (this.#all.size + this.#opening >= MOST) {
      this.#waiting.push(again);
      return;
    }
    this.#opening++;
    clock.after(clock.outside, wayTo(meeting), () => this.#open(resolve, reject));
  }

  #open(resolve: (link: Link) => void, reject: (error: Error) => void): void {
    const { server, clock, owner, meeting } = this.#ends;
    const errors = ERRORS[server.kind];
    const over = (task: () => void) =>
      clock.after(owner, wayTo(meeting), () => {
        this.#opening--;
        task();
      });
    const fail = (error: Error) =>
      over(() => {
        reject(error);
        this.#waiting.shift()?.();
      });
    switch (meeting.serverFault) {
      case "away":
        fail(errors.refused());
        return;
      case "crowded":
        fail(errors.crowded());
        return;
      case "silent":
        clock.after(clock.outside, AGAIN_MS, () => this.#open(resolve, reject));
        return;
      default:
        server.connect((session) => {
          const link = new Link(session, this.#ends);
          if (!owner.isAlive) return link.destroy();
          this.#all.add(link);
          over(() => resolve(link));
        });
    }
  }
}

/** The pool as pg's. */
export function postgresPool(pool: Pool): PostgresPool {
  return {
    connect(callback) {
      const clientOf = (link: Link): PostgresClient => ({
        query: (given) => link.request(given) as Promise<{ rows: unknown[] }>,
        on: () => {},
        removeListener: () => {},
        release: (destroy) => (destroy || link.state !== "open" ? pool.drop(link) : pool.takeBack(link)),
      });
      pool.lend().then(
        (link) => callback(undefined, clientOf(link)),
        (error) => callback(error, undefined),
      );
    },
    on: () => {},
    removeListener: () => {},
  };
}

/** The pool as mysql2's. */
export function mysqlPool(pool: Pool): MysqlPool {
  return {
    async getConnection() {
      const link = await pool.lend();
      return {
        // What is new with each loan wraps it, as mysql2's does.
        connection: link,
        query: ({ sql, ...options }: { sql: string }) => link.request({ text: sql, options }) as never,
        release: () => (link.state === "open" ? pool.takeBack(link) : pool.drop(link)),
        destroy: () => pool.drop(link),
      };
    },
  };
}
