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
/** Of statements, if a fault concerns some of them. */
const SHARE = 0.3;
const PATIENCE_S = 50;

export function wayTo({ serverFault, random }: Meeting): number {
  if (serverFault === "slow") return (random() * SLOWEST_MS) / 2;
  if (serverFault === "stuck") return STUCK_MS / 2;
  return random() * WAY_MS;
}

/** Both ends of a connection, and what there is between them. */
export interface Ends {
  readonly server: SqlServer;
  readonly clock: VirtualClock;
  readonly owner: Owner;
  readonly meeting: Meeting;
}

/** One connection of a process, with all that can happen to it. */
export class Link {
  /** `cut`: each request fails. `destroyed`: none is answered. */
  state: "open" | "cut" | "destroyed" = "open";
  readonly session: Session;
  readonly #ends: Ends;
  #patienceS = PATIENCE_S;

  constructor(session: Session, ends: Ends) {
    this.session = session;
    this.#ends = ends;
  }

  request(statement: Statement): Promise<Result> {
    const { clock, owner, meeting } = this.#ends;
    return new Promise((resolve, reject) => {
      const wayMs = wayTo(meeting);
      const answer = (outcome: Outcome) => {
        clock.after(owner, wayMs, () => {
          if (this.state === "destroyed") return;
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result);
        });
      };
      clock.after(clock.outside, wayMs, () => this.#arrive(statement, answer));
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
    this.#ends.server.disconnect(this.session);
  }

  #arrive(statement: Statement, answer: (outcome: Outcome) => void): void {
    const { server, meeting } = this.#ends;
    const errors = ERRORS[server.kind];
    const { serverFault, random } = meeting;
    const happens = random() < SHARE;
    const isAfter = random() < 0.5;
    if (serverFault === "away") this.cut();
    if (serverFault === "cuts" && happens && !isAfter) this.cut();
    if (this.state === "cut") answer({ error: errors.cut() });
    else if (this.state === "destroyed" || (serverFault === "silent" && !isAfter)) return;
    else if (serverFault === "full" && happens) answer({ error: errors.full() });
    // What touches no row meets no other transaction.
    else if (serverFault === "deadlocks" && happens && !statement.text.startsWith("set "))
      this.#execute({ text: "rollback" }, () => answer({ error: errors.deadlock() }));
    else
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
    const { server, meeting } = this.#ends;
    const waits = {
      patienceMs: server.kind === "mysql" ? 1_000 * this.#patienceS : Number.POSITIVE_INFINITY,
      isReadOnly: meeting.serverFault === "read-only",
    };
    server.execute(this.session, { ...statement, text }, waits, (outcome) => {
      if (this.session.hasEnded) this.cut();
      done(this.session.hasEnded ? { error: ERRORS[server.kind].cut() } : outcome);
    });
  }
}
