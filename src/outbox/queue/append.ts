import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { setImmediate } from "../../shared/real-timers.js";
import { inBatches } from "./batch.js";

/** What became of an event. `full`: it was not stored. */
export type Stored = "queued" | "duplicate" | "full";

interface AppendRequest {
  readonly event: OutboxEvent;
  /** Called if the event waits for a host's transaction. */
  readonly waits: (() => void) | undefined;
  /** How often what waits had failed when it came. */
  readonly generation: number;
  resolve(stored: Stored): void;
  reject(error: unknown): void;
}

const AT_ONCE = 64;
const LOOK_MS = 50;
// Of the five seconds that a tracker's close() takes by default.
export const LOOKS_ON_CLOSING_MS = 3_000;

/**
 * Stores events, many in one statement. One that a host's open transaction has just reported waits
 * for its end, and so do its visitor's later events; others go on. If a look at one of these fails,
 * all of them do: alone, it could be overtaken.
 *
 * @param options.attempt stores these in one transaction, or none of them, with each one's outcome.
 * What an earlier attempt of the same `report` has stored is no duplicate.
 * @param options.isBusy one of the events waits for another transaction.
 */
export function createAppend(options: {
  name: string;
  clock: Clock;
  attempt: (events: readonly OutboxEvent[], report: string) => Promise<readonly Stored[]>;
  isBusy: (error: unknown) => boolean;
}) {
  const { name, clock, attempt, isBusy } = options;
  /** What waits for hosts' transactions, in order. */
  const waiting = new Set<AppendRequest>();
  let isLooking = false;
  let isClosed = false;
  let cancelEnd = () => {};
  let generation = 0;
  let failure: unknown;

  // One call at a time. If it fails, so does everything behind it: otherwise a later event could be
  // stored before an earlier one.
  const inTurn = inBatches<AppendRequest, undefined>(storeInTurn, { max: AT_ONCE, failTogether: true });
  async function storeInTurn(asked: readonly AppendRequest[]): Promise<undefined[]> {
    const left = new Set(asked);
    const taken = new Set([...waiting].flatMap(keysOf));

    async function storeFree(some: readonly AppendRequest[]): Promise<void> {
      const free = some.filter((each) => isFree(each, taken));
      if (free.length === 0) return;
      try {
        const outcomes = await attempt(
          free.map(({ event }) => event),
          randomUUID(),
        );
        for (const [nth, each] of free.entries()) {
          each.resolve(outcomes[nth] as Stored);
          left.delete(each);
        }
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (free.length === 1) take(free[0] as AppendRequest, taken);
        // Alone, each shows whether it waits.
        else for (const each of free) await storeFree([each]);
      }
    }

    throwIfBehindFailed(left);
    await storeFree(asked);
    throwIfBehindFailed(left);
    for (const each of left) wait(each);
    return [];
  }

  function throwIfBehindFailed(some: ReadonlySet<AppendRequest>): void {
    for (const each of some) if (each.generation !== generation) throw failure;
  }

  function wait(request: AppendRequest): void {
    if (isClosed) {
      request.reject(closedWhileWaiting(name));
      return;
    }
    waiting.add(request);
    request.waits?.();
    if (!isLooking) void look();
  }

  /** Stores what waits, each once nothing that came before it holds it up. */
  async function look(): Promise<void> {
    isLooking = true;
    try {
      while (waiting.size > 0) {
        await lookAtEach();
        await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve));
      }
    } catch (error) {
      failWaiting(error);
    }
    isLooking = false;
  }

  /** One at a time: the server makes each wait, on a connection of the host's pool. */
  async function lookAtEach(): Promise<void> {
    const taken = new Set<string>();
    for (const each of waiting) {
      if (isClosed) throw closedWhileWaiting(name);
      if (!isFree(each, taken)) continue;
      try {
        const [outcome] = await attempt([each.event], randomUUID());
        waiting.delete(each);
        each.resolve(outcome as Stored);
      } catch (error) {
        if (!isBusy(error)) throw error;
        take(each, taken);
      }
    }
  }

  /** Also what comes before their callers know: it may have to go behind them. */
  function failWaiting(error: unknown): void {
    failure = error;
    generation++;
    setImmediate(() => generation++);
    for (const { reject } of waiting) reject(error);
    waiting.clear();
  }

  return {
    append: (event: OutboxEvent, waits?: () => void): Promise<Stored> =>
      new Promise((resolve, reject) => {
        inTurn({ event, waits, generation, resolve, reject }).catch(reject);
      }),
    /** No event comes any more. Those that wait are still tried for a while. */
    stop(): void {
      cancelEnd = clock.after(LOOKS_ON_CLOSING_MS, () => {
        isClosed = true;
      });
    },
    close(): void {
      isClosed = true;
      cancelEnd();
    },
  };
}

/** Whether no event with one of its names is held up. If one is, so is this. */
function isFree(request: AppendRequest, taken: Set<string>): boolean {
  const isBehind = keysOf(request).some((key) => taken.has(key));
  if (isBehind) take(request, taken);
  return !isBehind;
}

function take(request: AppendRequest, taken: Set<string>): void {
  for (const key of keysOf(request)) taken.add(key);
}

function keysOf({ event: { id, data } }: AppendRequest): string[] {
  return [`id ${id}`, `click ${data.clickId ?? id}`, `session ${data.sessionId ?? id}`];
}

function closedWhileWaiting(name: string): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_OUTBOX_CLOSED",
    `${name}Outbox: closed while the host's own transaction about the same visitor was open`,
  );
}
