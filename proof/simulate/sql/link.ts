import type { Owner, VirtualClock } from "../clock.js";
import type { ServerFault } from "../host.js";
import { ERRORS } from "./errors.js";
import type { Result, Session, Statement } from "./real-server.js";
import type { Outcome, SqlServer } from "./server.js";

/** How a connection's owner meets the server at this moment. */
export interface Meeting {
  readonly serverFault: ServerFault | undefined;
  random(): number;
}

// Far enough for a process to count what there is only now and then.
const WAY_MS = 20;
const SLOWEST_MS = 5_000;
const STUCK_MS = 30_000;
/** Of statements, where a fault concerns some of them. */
const SHARE = 0.3;
const PATIENCE_S = 50;

export function wayTo({ serverFault, random }: Meeting): number {
  if (serverFault === "slow") return (random() * SLOWEST_MS) / 2;
  if (serverFault === "stuck") return STUCK_MS / 2;
  return random() * WAY_MS;
}

/** One connection of a process, with all that can happen to it. */
export class Link {
  /** `cut`: each request fails. `destroyed`: none is answered. */
  state: "open" | "cut" | "destroyed" = "open";
  readonly session: Session;
  readonly #server: SqlServer;
  readonly #clock: VirtualClock;
  readonly #owner: Owner;
  readonly #meeting: Meeting;
  #patienceS = PATIENCE_S;

  constructor(
    session: Session,
    {
      server,
      clock,
      owner,
      meeting,
    }: { server: SqlServer; clock: VirtualClock; owner: Owner; meeting: Meeting },
  ) {
    this.session = session;
    this.#server = server;
    this.#clock = clock;
    this.#owner = owner;
    this.#meeting = meeting;
  }

  request(statement: Statement): Promise<Result> {
    return new Promise((resolve, reject) => {
      const wayMs = wayTo(this.#meeting);
      const answer = (outcome: Outcome) => {
        this.#clock.after(this.#owner, wayMs, () => {
          if (this.state === "destroyed") return;
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result);
        });
      };
      this.#clock.after(this.#clock.outside, wayMs, () => this.#arrive(statement, answer));
    });
  }

  /** From the other side, or on the way. */
  cut(): void {
    if (this.state === "open") this.#leave("cut");
  }

  destroy(): void {
    if (this.state === "open") this.#leave("destroyed");
    this.state = "destroyed";
  }

  #leave(state: "cut" | "destroyed"): void {
    this.state = state;
    this.#server.disconnect(this.session);
  }

  #arrive(statement: Statement, answer: (outcome: Outcome) => void): void {
    const errors = ERRORS[this.#server.kind];
    const { serverFault, random } = this.#meeting;
    const happens = random() < SHARE;
    const isAfter = random() < 0.5;
    if (serverFault === "away") this.cut();
    if (serverFault === "cuts" && happens && !isAfter) this.cut();
    if (this.state === "cut") {
      answer({ error: errors.cut() });
      return;
    }
    if (this.state === "destroyed" || (serverFault === "silent" && !isAfter)) return;
    if (serverFault === "full" && happens) {
      answer({ error: errors.full() });
      return;
    }
    // What touches no row meets no other transaction.
    if (serverFault === "deadlocks" && happens && !statement.text.startsWith("set ")) {
      this.#execute({ text: "rollback" }, () => answer({ error: errors.deadlock() }));
      return;
    }
    this.#execute(statement, (outcome) => {
      if (serverFault === "silent") return;
      if (serverFault === "cuts" && happens) this.cut();
      answer(this.state === "cut" ? { error: errors.cut() } : outcome);
    });
  }

  #execute(statement: Statement, done: (outcome: Outcome) => void): void {
    const patience = /^set innodb_lock_wait_timeout = (\d+)$/.exec(statement.text);
    if (patience) {
      this.#patienceS = Number(patience[1]);
      done({ result: [{ affectedRows: 0 }, undefined] });
      return;
    }
    const text = statement.text.replaceAll("@@innodb_lock_wait_timeout", String(PATIENCE_S));
    const isMysql = this.#server.kind === "mysql";
    const waits = {
      patienceMs: isMysql ? 1_000 * this.#patienceS : Number.POSITIVE_INFINITY,
      isReadOnly: this.#meeting.serverFault === "read-only",
    };
    this.#server.execute(this.session, { ...statement, text }, waits, (outcome) => {
      if (this.session.hasEnded) this.cut();
      done(this.session.hasEnded ? { error: ERRORS[this.#server.kind].cut() } : outcome);
    });
  }
}
