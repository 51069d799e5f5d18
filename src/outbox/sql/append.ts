import type { OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { inBatches } from "./batch.js";
import { repeatWhereLost } from "./lost-connection.js";

/** `crowded`: queued, and its visitor has more clicks than may wait. */
export type AppendOutcome = "queued" | "crowded" | "duplicate";

/**
 * `busy`: not stored, because a host's open transaction has reported the event, or its visitor.
 * `rolled back`: not stored, because another in the batch was locked; without a `busy` one, it is
 * not known which.
 */
export type AttemptOutcome = AppendOutcome | "busy" | "rolled back";

interface AppendRequest {
  readonly event: OutboxEvent;
  /** Called if the event waits for a host's transaction. */
  readonly waits: (() => void) | undefined;
  resolve(outcome: AppendOutcome): void;
  reject(error: unknown): void;
}

// In PostgreSQL each takes up to three of the server's locks: 64 for each allowed connection.
const AT_ONCE = 64;
const LOOK_MS = 50;
// Of the five seconds that a tracker's close() takes by default.
const LOOKS_ON_CLOSING_MS = 3_000;

/**
 * Stores events, many in one statement. An event whose visitor a host's open transaction has just
 * reported waits for its end, and so do that visitor's later events; others go on.
 *
 * @param options.attempt stores all of these in one transaction or none, with each one's outcome.
 * @param options.storedBy known events that this report has stored, and no earlier one.
 * @param options.isLost the connection was lost: how far the request got is unknown.
 */
export function createAppend(options: {
  name: string;
  clock: Clock;
  attempt: (events: readonly OutboxEvent[]) => Promise<readonly AttemptOutcome[]>;
  storedBy: (events: readonly OutboxEvent[]) => Promise<ReadonlySet<OutboxEvent>>;
  isLost: (error: unknown) => boolean;
}) {
  const { name, clock, attempt, storedBy, isLost } = options;
  const blocked: AppendRequest[] = [];
  let cancelLook: (() => void) | undefined;
  let isClosed = false;
  let cancelEnd = () => {};

  // One call at a time, so that no event overtakes a blocked one that is tried again. If a call
  // fails, so does everything behind it: otherwise a later event could be stored before an earlier
  // one.
  const inTurn = inBatches<AppendRequest | "blocked", void>(storeInTurn, {
    max: AT_ONCE,
    failTogether: true,
  });

  async function storeInTurn(asked: readonly (AppendRequest | "blocked")[]): Promise<[]> {
    const fresh = asked.filter((each) => each !== "blocked");
    let waited: AppendRequest[] = [];
    try {
      // Before the blocked ones, which may make the server wait for a lock.
      await store(fresh);
      if (asked.includes("blocked")) waited = blocked.splice(0);
      for (let nth = 0; nth < waited.length; nth += AT_ONCE) await store(waited.slice(nth, nth + AT_ONCE));
    } catch (error) {
      for (const { reject } of [...fresh, ...waited, ...blocked.splice(0)]) reject(error);
      throw error;
    }
    if (isClosed) rejectBlocked();
    else if (blocked.length > 0) cancelLook ??= clock.after(LOOK_MS, lookAgain);
    return [];
  }

  function lookAgain(): void {
    cancelLook = undefined;
    // Their callers get the error.
    inTurn("blocked").catch(() => {});
  }

  async function store(pending: readonly AppendRequest[]): Promise<void> {
    for (let rest = blockBusy(pending, []); rest.length > 0; ) {
      const outcomes = await attemptUntilAnswered(rest.map(({ event }) => event));
      if (outcomes.every(isStored)) {
        for (const [nth, { resolve }] of rest.entries()) resolve(outcomes[nth] as AppendOutcome);
        return;
      }
      const busy = rest.length === 1 ? rest : rest.filter((_, nth) => outcomes[nth] === "busy");
      if (busy.length === 0) {
        // Alone, each shows whether it waits.
        for (const each of rest) await store([each]);
        return;
      }
      rest = blockBusy(rest, busy);
    }
  }

  /** What a lost attempt has stored is no duplicate for the next one. */
  function attemptUntilAnswered(events: readonly OutboxEvent[]): Promise<readonly AttemptOutcome[]> {
    return repeatWhereLost(async (isRepeated) => {
      const outcomes = await attempt(events);
      const known = events.filter((_, nth) => outcomes[nth] === "duplicate");
      if (!isRepeated || known.length === 0) return outcomes;
      const own = await storedBy(known);
      return outcomes.map((outcome, nth) => (own.has(events[nth] as OutboxEvent) ? "queued" : outcome));
    }, isLost);
  }

  /** Blocks the busy ones and their visitors' later ones. Returns the others. */
  function blockBusy(pending: readonly AppendRequest[], busy: readonly AppendRequest[]): AppendRequest[] {
    const keys = new Set(blocked.flatMap(({ event }) => keysOf(event)));
    return pending.filter((each) => {
      const own = keysOf(each.event);
      const isFree = !busy.includes(each) && !own.some((key) => keys.has(key));
      if (!isFree) {
        for (const key of own) keys.add(key);
        blocked.push(each);
        each.waits?.();
      }
      return isFree;
    });
  }

  function rejectBlocked(): void {
    const error = new OutboxError(
      "ERR_AFFILIATE_OUTBOX_CLOSED",
      `${name}Outbox: closed while the host's own transaction about the same visitor was open`,
    );
    for (const { reject } of blocked.splice(0)) reject(error);
  }

  return {
    append: (event: OutboxEvent, waits?: () => void): Promise<AppendOutcome> =>
      new Promise((resolve, reject) => {
        inTurn({ event, waits, resolve, reject }).catch(reject);
      }),
    /** No event comes any more. Blocked ones are still tried for a while. */
    stop(): void {
      cancelEnd = clock.after(LOOKS_ON_CLOSING_MS, () => {
        isClosed = true;
        rejectBlocked();
      });
    },
    close(): void {
      cancelEnd();
      cancelLook?.();
    },
  };
}

function isStored(outcome: AttemptOutcome): outcome is AppendOutcome {
  return outcome !== "busy" && outcome !== "rolled back";
}

function keysOf({ id, destination, data: { clickId, sessionId } }: OutboxEvent): string[] {
  const keys = [`id ${id}`, `click ${clickId ?? id}`, `session ${sessionId ?? id}`];
  return keys.map((key) => `${destination} ${key}`);
}
