import type { OutboxEvent } from "../../events.js";
import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { inBatches } from "./batch.js";
import type { Destinations } from "./destinations.js";
import { repeatWhereLost } from "./lost-connection.js";

/** `crowded`: queued, and its visitor has more clicks than may wait. */
export type Stored = "queued" | "crowded" | "duplicate";

/**
 * `busy`: not stored, because a host's open transaction has reported it, or its visitor. `spared`: rolled back, because another event in
 * the batch was locked; where none is `busy`, it is not known which.
 */
export type Attempted = Stored | "busy" | "spared";

interface Pending {
  readonly event: OutboxEvent;
  /** Called when it has to wait for the end of a host's transaction. */
  readonly waits: (() => void) | undefined;
  resolve(outcome: Stored): void;
  reject(error: unknown): void;
}

// In PostgreSQL each takes up to three of the server's locks, of which it has 64 for each connection that it allows.
const AT_ONCE = 64;
const LOOK_MS = 50;
// Of the five seconds that a tracker's close() takes by default.
const LOOKS_ON_CLOSING_MS = 3_000;

/**
 * Stores events, many in one statement. An event whose visitor a host's open transaction has just reported waits for the
 * end of that transaction, and so do that visitor's later events; the others go on.
 *
 * @param options.name `postgres`: for errors.
 * @param options.attempt stores all of these in one transaction, or none of them, and says of each what became of it.
 * @param options.storedBy of events that are known, those that this report has stored, and no earlier one.
 * @param options.isLost whether an error says that the connection was lost: how far the request got is unknown then.
 */
export function createAppend(options: {
  name: string;
  destinations: Destinations;
  clock: Clock;
  attempt: (events: readonly OutboxEvent[]) => Promise<readonly Attempted[]>;
  storedBy: (events: readonly OutboxEvent[]) => Promise<ReadonlySet<OutboxEvent>>;
  isLost: (error: unknown) => boolean;
}) {
  const { name, destinations, clock, attempt, storedBy, isLost } = options;
  const held: Pending[] = [];
  let cancelLook: (() => void) | undefined;
  let isClosed = false;
  let cancelEnd = () => {};

  // One call at a time, so that nothing overtakes what is held while it is looked at again.
  // Where a call fails, all events that wait for a call fail: else one could overtake another that is stored later.
  const inTurn = inBatches<Pending | "held", void>(storeInTurn, { max: AT_ONCE, failTogether: true });

  async function storeInTurn(asked: readonly (Pending | "held")[]): Promise<[]> {
    const fresh = asked.filter((each) => each !== "held");
    let waited: Pending[] = [];
    try {
      // Before the look at what is held, in which the server may wait for a lock.
      await store(fresh);
      if (asked.includes("held")) waited = held.splice(0);
      for (let nth = 0; nth < waited.length; nth += AT_ONCE) await store(waited.slice(nth, nth + AT_ONCE));
    } catch (error) {
      for (const { reject } of [...fresh, ...waited, ...held.splice(0)]) reject(error);
      throw error;
    }
    if (isClosed) releaseHeld();
    else if (held.length > 0) cancelLook ??= clock.after(LOOK_MS, lookAgain);
    return [];
  }

  function lookAgain(): void {
    cancelLook = undefined;
    // The callers that wait for them get the error.
    inTurn("held").catch(() => {});
  }

  async function store(pending: readonly Pending[]): Promise<void> {
    for (const { event } of pending) {
      if (!destinations.isStored(event.destination)) await destinations.store(event.destination);
    }
    for (let rest = holdBack(pending, []); rest.length > 0; ) {
      const outcomes = await attemptUntilAnswered(rest.map(({ event }) => event));
      if (outcomes.every(isStored)) {
        for (const [nth, { resolve }] of rest.entries()) resolve(outcomes[nth] as Stored);
        return;
      }
      const busy = rest.length === 1 ? rest : rest.filter((_, nth) => outcomes[nth] === "busy");
      if (busy.length === 0) {
        // Alone, each shows whether it has to wait.
        for (const each of rest) await store([each]);
        return;
      }
      rest = holdBack(rest, busy);
    }
  }

  /** Where the answer to an attempt was lost, the next attempt finds its events stored: these are no duplicates. */
  function attemptUntilAnswered(events: readonly OutboxEvent[]): Promise<readonly Attempted[]> {
    return repeatWhereLost(async (isRepeated) => {
      const outcomes = await attempt(events);
      const known = events.filter((_, nth) => outcomes[nth] === "duplicate");
      if (!isRepeated || known.length === 0) return outcomes;
      const own = await storedBy(known);
      return outcomes.map((outcome, nth) => (own.has(events[nth] as OutboxEvent) ? "queued" : outcome));
    }, isLost);
  }

  /** Holds the events that have to wait, and later ones of their visitors. Returns the others. */
  function holdBack(pending: readonly Pending[], busy: readonly Pending[]): Pending[] {
    const keys = new Set(held.flatMap(({ event }) => keysOf(event)));
    return pending.filter((each) => {
      const own = keysOf(each.event);
      const isFree = !busy.includes(each) && !own.some((key) => keys.has(key));
      if (!isFree) {
        for (const key of own) keys.add(key);
        held.push(each);
        each.waits?.();
      }
      return isFree;
    });
  }

  function releaseHeld(): void {
    const error = new OutboxError(
      "ERR_AFFILIATE_OUTBOX_CLOSED",
      `${name}Outbox: closed while the host's own transaction about the same visitor was open`,
    );
    for (const { reject } of held.splice(0)) reject(error);
  }

  return {
    append: (event: OutboxEvent, waits?: () => void): Promise<Stored> =>
      new Promise((resolve, reject) => {
        inTurn({ event, waits, resolve, reject }).catch(reject);
      }),
    /** No event comes any more. What is held is looked at for a while yet. */
    stop(): void {
      cancelEnd = clock.after(LOOKS_ON_CLOSING_MS, () => {
        isClosed = true;
        releaseHeld();
      });
    },
    close(): void {
      cancelEnd();
      cancelLook?.();
    },
  };
}

function isStored(outcome: Attempted): outcome is Stored {
  return outcome !== "busy" && outcome !== "spared";
}

function keysOf({ id, destination, data: { clickId, sessionId } }: OutboxEvent): string[] {
  const keys = [`id ${id}`, `click ${clickId ?? id}`, `session ${sessionId ?? id}`];
  return keys.map((key) => `${destination} ${key}`);
}
