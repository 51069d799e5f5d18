import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { inBatches } from "./batch.js";
import { repeatWhereLost } from "./connections.js";
import type { Stored } from "./enqueue.js";

interface AppendRequest {
  readonly event: OutboxEvent;
  /** Called if the event waits for a host's transaction. */
  readonly waits: (() => void) | undefined;
  resolve(outcome: Stored): void;
  reject(error: unknown): void;
}

const AT_ONCE = 64;
const LOOK_MS = 50;
// Of the five seconds that a tracker's close() takes by default.
const LOOKS_ON_CLOSING_MS = 3_000;

/**
 * Stores events, many in one statement. One that a host's open transaction has just reported waits
 * for its end, and so do its visitor's later events; others go on.
 *
 * @param options.attempt stores all of these in one transaction or none, with each one's outcome.
 * What an earlier attempt of the same `report` has stored is no duplicate.
 * @param options.isLost the connection was lost: how far the request got is unknown.
 * @param options.isBusy one of the events waits for another transaction.
 */
export function createAppend(options: {
  name: string;
  clock: Clock;
  attempt: (events: readonly OutboxEvent[], report: string) => Promise<readonly Stored[]>;
  isLost: (error: unknown) => boolean;
  isBusy: (error: unknown) => boolean;
}) {
  const { name, clock, attempt, isLost, isBusy } = options;
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
    const free = blockBusy(pending, []);
    if (free.length === 0) return;
    const events = free.map(({ event }) => event);
    const report = randomUUID();
    try {
      const outcomes = await repeatWhereLost(() => attempt(events, report), isLost);
      for (const [nth, { resolve }] of free.entries()) resolve(outcomes[nth] as Stored);
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (free.length === 1) blockBusy(free, free);
      // Alone, each shows whether it waits.
      else for (const each of free) await store([each]);
    }
  }

  /** Blocks the busy ones and their visitors' later ones. Returns the others. */
  function blockBusy(pending: readonly AppendRequest[], busy: readonly AppendRequest[]): AppendRequest[] {
    const keys = new Set(blocked.flatMap(({ event }) => keysOf(event)));
    return pending.filter((each) => {
      const visitor = keysOf(each.event);
      const isFree = !busy.includes(each) && !visitor.some((key) => keys.has(key));
      if (!isFree) {
        for (const key of visitor) keys.add(key);
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
    append: (event: OutboxEvent, waits?: () => void): Promise<Stored> =>
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

function keysOf({ id, data: { clickId, sessionId } }: OutboxEvent): string[] {
  return [`id ${id}`, `click ${clickId ?? id}`, `session ${sessionId ?? id}`];
}
