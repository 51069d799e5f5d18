import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { inBatches } from "./batch.js";

/** What became of an event. `full`: it was not stored. */
export type Stored = "queued" | "duplicate" | "full";

interface AppendRequest {
  readonly event: OutboxEvent;
  /** Called if the event waits for a host's transaction. */
  readonly waits: (() => void) | undefined;
  resolve(stored: Stored): void;
  reject(error: unknown): void;
}

const AT_ONCE = 64;
const LOOK_MS = 50;
const LOOK_WHEN_AWAY_MS = 1_000;
// Of the five seconds that a tracker's close() takes by default.
export const LOOKS_ON_CLOSING_MS = 3_000;

/**
 * Stores events, many in one statement. One that a host's open transaction has just reported waits
 * for its end, and so do its visitor's later events; others go on.
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

    await storeFree(asked);
    for (const each of left) {
      waiting.add(each);
      each.waits?.();
    }
    if (!isLooking) void look();
    return [];
  }

  /** Stores what waits, each once nothing that came before it holds it up. */
  async function look(): Promise<void> {
    isLooking = true;
    while (waiting.size > 0) {
      const inMs = await lookAtEach();
      await new Promise<void>((resolve) => clock.after(inMs, resolve));
    }
    isLooking = false;
  }

  /** One at a time: the server makes each wait, on a connection of the host's pool. */
  async function lookAtEach(): Promise<number> {
    const taken = new Set<string>();
    for (const each of waiting) {
      if (isClosed) each.reject(closedWhileWaiting(name));
      if (isClosed) waiting.delete(each);
      else if (isFree(each, taken)) {
        try {
          const [outcome] = await attempt([each.event], randomUUID());
          waiting.delete(each);
          each.resolve(outcome as Stored);
        } catch (error) {
          // It keeps its place: the next look may find the server there again.
          if (!isBusy(error)) return isClosed ? 0 : LOOK_WHEN_AWAY_MS;
          take(each, taken);
        }
      }
    }
    return LOOK_MS;
  }

  return {
    append: (event: OutboxEvent, waits?: () => void): Promise<Stored> =>
      new Promise((resolve, reject) => {
        inTurn({ event, waits, resolve, reject }).catch(reject);
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
