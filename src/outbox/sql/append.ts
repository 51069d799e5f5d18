import type { OutboxEvent } from "../../events.js";
import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { inBatches } from "./batch.js";
import { repeatWhereLost } from "./lost-connection.js";

/** `crowded`: queued, and its visitor has more clicks than may wait. */
export type AppendOutcome = "queued" | "crowded" | "duplicate";

/**
 * `busy`: not stored, because a host's open transaction has reported the event, or its visitor. `rolled back`: not stored,
 * because another event in the batch was locked; where none is `busy`, it is not known which.
 */
export type AttemptOutcome = AppendOutcome | "busy" | "rolled back";

interface AppendRequest {
  readonly event: OutboxEvent;
  /** Called when the event has to wait for the end of a host's transaction. */
  readonly waits: (() => void) | undefined;
  resolve(outcome: AppendOutcome): void;
  reject(error: unknown): void;
}

// In PostgreSQL each takes up to three of the server's locks, of which it has 64 for each connection that it allows.
const AT_ONCE = 64;
const LOOK_MS = 50;
// A part of the five seconds that a tracker's close() takes by default.
const LOOKS_ON_CLOSING_MS = 3_000;

/**
 * Stores events, many in one statement. An event whose visitor a host's open transaction has just reported waits for the
 * end of that transaction, and so do that visitor's later events; the others go on.
 *
 * @param options.name `postgres`: for errors.
 * @param options.attempt stores all of these in one transaction, or none of them, and says of each what became of it.
 * @param options.storedBy of known events, those that this report has stored, and no earlier one.
 * @param options.isLost whether an error says that the connection was lost: how far the request got is unknown then.
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

  // One call at a time, so that no event overtakes a blocked one while that is tried again. Where a call fails, all events that
  // wait for a call fail: else one could overtake another that is stored later.
  const inTurn = inBatches<AppendRequest | "blocked", void>(storeInTurn, {
    max: AT_ONCE,
    failTogether: true,
  });

  async function storeInTurn(asked: readonly (AppendRequest | "blocked")[]): Promise<[]> {
    const fresh = asked.filter((each) => each !== "blocked");
    let waited: AppendRequest[] = [];
    try {
      // Before the blocked ones are tried, which may make the server wait for a lock.
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
    // The callers that wait for them get the error.
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
        // Alone, each shows whether it has to wait.
        for (const each of rest) await store([each]);
        return;
      }
      rest = blockBusy(rest, busy);
    }
  }

  /** After an attempt whose answer was lost, the next one finds its events stored: these are no duplicates. */
  function attemptUntilAnswered(events: readonly OutboxEvent[]): Promise<readonly AttemptOutcome[]> {
    return repeatWhereLost(async (isRepeated) => {
      const outcomes = await attempt(events);
      const known = events.filter((_, nth) => outcomes[nth] === "duplicate");
      if (!isRepeated || known.length === 0) return outcomes;
      const own = await storedBy(known);
      return outcomes.map((outcome, nth) => (own.has(events[nth] as OutboxEvent) ? "queued" : outcome));
    }, isLost);
  }

  /** Blocks the events that have to wait, and later ones of their visitors. Returns the others. */
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
    /** No event comes any more. Blocked ones are tried for a while yet. */
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
