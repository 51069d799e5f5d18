import type { MysqlPool } from "express-affiliate/mysql";
import type { PostgresClient, PostgresPool } from "express-affiliate/postgres";
import type { Owner } from "../clock.js";
import { ERRORS } from "./errors.js";
import { type Ends, Link, wayTo } from "./link.js";
import type { Session } from "./real-server.js";

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

  async lend(): Promise<Link> {
    const { owner, meeting } = this.#ends;
    for (;;) {
      // The host has them all.
      while (meeting.serverFault === "lent") await this.#after(owner, AGAIN_MS);
      const idle = this.#idle.pop();
      if (idle) return idle;
      if (this.#all.size + this.#opening < MOST) return this.#open();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
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

  async #open(): Promise<Link> {
    const { server, clock, owner, meeting } = this.#ends;
    this.#opening++;
    await this.#after(clock.outside, wayTo(meeting));
    while (meeting.serverFault === "silent") await this.#after(clock.outside, AGAIN_MS);
    const { serverFault } = meeting;
    const { refused, crowded } = ERRORS[server.kind];
    if (serverFault === "away" || serverFault === "crowded") {
      await this.#after(owner, wayTo(meeting));
      this.#opening--;
      this.#waiting.shift()?.();
      throw serverFault === "away" ? refused() : crowded();
    }
    const link = new Link(await new Promise<Session>((resolve) => server.connect(resolve)), this.#ends);
    if (owner.isAlive) this.#all.add(link);
    else link.destroy();
    await this.#after(owner, wayTo(meeting));
    this.#opening--;
    return link;
  }

  #after(owner: Owner, ms: number): Promise<void> {
    return new Promise((resolve) => this.#ends.clock.after(owner, ms, resolve));
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
