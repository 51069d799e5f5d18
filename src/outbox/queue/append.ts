import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import { inBatches } from "../../shared/batch.js";
import type { Clock } from "../../shared/clock.js";
import type { Stored } from "../outbox.js";

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

/**
 * Stores events, many in one statement. One that a host's open transaction has just reported waits
 * for its end, and so do its visitor's later events; others go on.
 *
 * @param options.attempt stores these in one transaction, or none of them, with each one's outcome.
 * What an earlier attempt of the same `report` has stored is no duplicate.
 * @param options.isBusy one of the events waits for another transaction.
 */
export function createAppend(options: {
  clock: Clock;
  attempt: (events: readonly OutboxEvent[], report: string) => Promise<readonly Stored[]>;
  isBusy: (error: unknown) => boolean;
}) {
  const { clock, attempt, isBusy } = options;
  /** What waits for hosts' transactions, in order. */
  const waiting = new Set<AppendRequest>();
  let isLooking = false;
  let isClosing = false;

  /** Stores all of these, or none of them if one waits for another transaction. */
  async function store(some: readonly AppendRequest[]): Promise<boolean> {
    try {
      const outcomes = await attempt(
        some.map(({ event }) => event),
        randomUUID(),
      );
      for (const [nth, request] of some.entries()) {
        waiting.delete(request);
        request.resolve(outcomes[nth] as Stored);
      }
      return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return false;
    }
  }

  /** Stores each alone that nothing before it holds up. Resolves to the others. */
  async function storeEach(some: Iterable<AppendRequest>, taken: Set<string>): Promise<AppendRequest[]> {
    const left: AppendRequest[] = [];
    for (const request of some) {
      if (isFree(request, taken) && (await store([request]))) continue;
      take(request, taken);
      left.push(request);
    }
    return left;
  }

  // One call at a time. If it fails, so does everything behind it: otherwise a later event could be
  // stored before an earlier one.
  const inTurn = inBatches<AppendRequest, undefined>(storeInTurn, AT_ONCE);
  async function storeInTurn(all: readonly AppendRequest[]): Promise<undefined[]> {
    const taken = new Set([...waiting].flatMap(keysOf));
    const free = all.filter((request) => isFree(request, taken));
    const isStored = free.length > 0 && (await store(free));
    // It waits: it need not be tried again.
    if (!isStored && free.length === 1) take(free[0] as AppendRequest, taken);
    const left = isStored ? all.filter((request) => !free.includes(request)) : await storeEach(all, taken);
    for (const request of left) {
      waiting.add(request);
      request.waits?.();
    }
    if (!isLooking) void look();
    return [];
  }

  /** Stores what waits, each once nothing that came before it holds it up. */
  async function look(): Promise<void> {
    isLooking = true;
    while (waiting.size > 0) {
      let inMs = LOOK_MS;
      try {
        // One at a time: the server makes each wait, on a connection of the host's pool.
        await storeEach(waiting, new Set());
      } catch (error) {
        // They keep their places: the next look may find the server there again.
        inMs = LOOK_WHEN_AWAY_MS;
        for (const request of isClosing ? waiting : []) {
          waiting.delete(request);
          request.reject(error);
        }
      }
      await new Promise<void>((resolve) => clock.after(inMs, resolve));
    }
    isLooking = false;
  }

  return {
    append: (event: OutboxEvent, waits?: () => void): Promise<Stored> =>
      new Promise((resolve, reject) => {
        inTurn({ event, waits, resolve, reject }).catch(reject);
      }),
    /** No event comes any more. Those that wait go on, unless the server is away. */
    stop(): void {
      isClosing = true;
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
