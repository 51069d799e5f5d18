import type { VirtualClock } from "../clock.js";
import type { RealServer, Result, Session, SqlKind, Statement } from "./real-server.js";

export type Outcome = { readonly result: Result } | { readonly error: unknown };

interface Running {
  readonly session: Session;
  isOver: boolean;
  /** It waits for a lock, and time goes on. */
  isBlocked: boolean;
  hasRunOut: boolean;
  readonly work: Promise<void>;
}

// In real time: after it, a statement that is not over is asked for.
const LOOK_MS = 6;
/** A session that has just been given a table's lock says that it waits until it has a processor. */
const LOOKS = 2;
const { setTimeout: realTimeout, clearTimeout: clearRealTimeout } = globalThis;

/**
 * A real server in virtual time. While it works on a statement, nothing else happens and no time
 * passes; but a statement that waits for a lock waits in virtual time, and ends when what it waits
 * for has ended, or its patience.
 */
export class SqlServer {
  readonly #real: RealServer;
  readonly #idle: Session[] = [];
  #running = new Set<Running>();
  #clock!: VirtualClock;

  constructor(real: RealServer) {
    this.#real = real;
  }

  get kind(): SqlKind {
    return this.#real.kind;
  }

  /** Before a simulation: nothing is left of the last one. */
  async begin(clock: VirtualClock): Promise<void> {
    this.#clock = clock;
    await this.#real.clear();
  }

  /** Ends all that is still under way after a simulation. */
  async end(): Promise<void> {
    for (const { session } of this.#running) await this.#real.cancel(session);
    await Promise.all([...this.#running].map(({ work }) => work));
    this.#running.clear();
  }

  destroy(): Promise<void> {
    return this.#real.destroy();
  }

  /** Opens a connection, in a task of the outside. */
  connect(done: (session: Session) => void): void {
    this.#clock.hold(this.#session().then(done));
  }

  /** Closes a connection. Its transaction is rolled back, if need be after a wait for a lock. */
  disconnect(session: Session): void {
    const running = [...this.#running].find((each) => each.session === session && !each.isOver);
    if (running) void running.work.then(() => this.#clock.hold(this.#keep(session)));
    else this.#clock.hold(this.#keep(session).then(() => this.#quiet()));
  }

  /** Runs a statement, in a task of the outside. `done` is called when it is over. */
  execute(
    session: Session,
    statement: Statement,
    { patienceMs, isReadOnly }: { patienceMs: number; isReadOnly: boolean },
    done: (outcome: Outcome) => void,
  ): void {
    const running: Running = {
      session,
      isOver: false,
      isBlocked: false,
      hasRunOut: false,
      work: run.call(this),
    };
    this.#running.add(running);
    this.#clock.hold(this.#quiet(patienceMs));

    async function run(this: SqlServer): Promise<void> {
      let outcome: Outcome;
      try {
        // A transaction that failed takes nothing but its end.
        if (statement.text !== "rollback") await session.setReadOnly(isReadOnly);
        outcome = { result: await session.run(statement, this.#clock.unset()) };
      } catch (error) {
        outcome = { error: running.hasRunOut ? timeUp() : error };
      }
      running.isOver = true;
      this.#running.delete(running);
      done(outcome);
    }
  }

  async #session(): Promise<Session> {
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      if (!session.hasEnded) return session;
    }
    return this.#real.session();
  }

  async #keep(session: Session): Promise<void> {
    try {
      await session.reset();
      this.#idle.push(session);
    } catch {
      session.end();
    }
  }

  /** Resolves once each statement is over or waits for a lock. */
  async #quiet(patienceMs = Number.POSITIVE_INFINITY): Promise<void> {
    for (let looks = 0; looks < LOOKS; ) {
      const before = [...this.#running];
      if (before.length === 0) return;
      let timer: NodeJS.Timeout | undefined;
      const soon = new Promise((resolve) => {
        timer = realTimeout(resolve, LOOK_MS);
      });
      await Promise.race([Promise.all(before.map(({ work }) => work)), soon]);
      clearRealTimeout(timer);
      if (this.#running.size === 0) return;
      const waiting = await this.#real.waiting();
      const allWait = [...this.#running].every(({ session }) => waiting.includes(session.number));
      looks = allWait ? looks + 1 : 0;
    }
    for (const each of this.#running) this.#block(each, patienceMs);
  }

  #block(running: Running, patienceMs: number): void {
    if (running.isBlocked) return;
    running.isBlocked = true;
    if (!Number.isFinite(patienceMs)) return;
    const clock = this.#clock;
    clock.after(clock.outside, patienceMs, () => {
      if (running.isOver || clock !== this.#clock) return;
      running.hasRunOut = true;
      clock.hold(this.#real.cancel(running.session).then(() => this.#quiet()));
    });
  }
}

/** What MySQL says if a statement has waited for too long. */
function timeUp(): Error {
  const message = "Lock wait timeout exceeded; try restarting transaction";
  return Object.assign(new Error(message), { code: "ER_LOCK_WAIT_TIMEOUT", errno: 1205 });
}
