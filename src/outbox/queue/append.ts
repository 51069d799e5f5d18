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
}

const AT_ONCE = 64;
const LOOK_MS = 50;
const AWAY_MS = 500;
// Of the five seconds that a tracker's close() takes by default.
const LOOKS_ON_CLOSING_MS = 3_000;

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
  /** By names of their visitors: resolves once the last of the events that wait is stored. */
  const waiting = new Map<string, Promise<void>>();
  let lastLook: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let cancelEnd = () => {};

  // One call at a time. If it fails, so does everything behind it: otherwise a later event could be
  // stored before an earlier one.
  const inTurn = inBatches<AppendRequest, Stored>(storeInTurn, { max: AT_ONCE, failTogether: true });
  async function storeInTurn(asked: readonly AppendRequest[]): Promise<(Stored | Promise<Stored>)[]> {
    const taken = new Set(waiting.keys());
    const stored = new Map<AppendRequest, Stored>();

    const isFree = ({ event }: AppendRequest) => {
      const keys = keysOf(event);
      const isBehind = keys.some((key) => taken.has(key));
      if (isBehind) for (const key of keys) taken.add(key);
      return !isBehind;
    };

    async function storeFree(some: readonly AppendRequest[]): Promise<void> {
      const free = some.filter(isFree);
      if (free.length === 0) return;
      const events = free.map(({ event }) => event);
      try {
        const outcomes = await attempt(events, randomUUID());
        for (const [nth, each] of free.entries()) stored.set(each, outcomes[nth] as Stored);
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (free.length === 1) for (const key of keysOf(events[0] as OutboxEvent)) taken.add(key);
        // Alone, each shows whether it waits.
        else for (const each of free) await storeFree([each]);
      }
    }

    await storeFree(asked);
    return asked.map((each) => stored.get(each) ?? wait(each));
  }

  /** Stores an event once nothing that came before it holds it up. */
  function wait({ event, waits }: AppendRequest): Promise<Stored> {
    waits?.();
    const keys = keysOf(event);
    const stored = Promise.all(keys.map((key) => waiting.get(key))).then(() => storeOnceFree(event));
    const ended = stored
      .catch(() => {})
      .then(() => {
        for (const key of keys) if (waiting.get(key) === ended) waiting.delete(key);
      });
    for (const key of keys) waiting.set(key, ended);
    return stored;
  }

  /** One at a time: the server makes each wait, on a connection of the host's pool. */
  function look(event: OutboxEvent, report: string): Promise<Stored> {
    const outcome = lastLook.then(async () => (await attempt([event], report))[0] as Stored);
    lastLook = outcome.catch(() => {});
    return outcome;
  }

  async function storeOnceFree(event: OutboxEvent): Promise<Stored> {
    const report = randomUUID();
    while (!isClosed) {
      try {
        return await look(event, report);
      } catch (error) {
        await new Promise<void>((resolve) => clock.after(isBusy(error) ? LOOK_MS : AWAY_MS, resolve));
      }
    }
    throw new OutboxError(
      "ERR_AFFILIATE_OUTBOX_CLOSED",
      `${name}Outbox: closed while the host's own transaction about the same visitor was open`,
    );
  }

  return {
    append: (event: OutboxEvent, waits?: () => void): Promise<Stored> => inTurn({ event, waits }),
    /** No event comes any more. Those that wait are still tried for a while. */
    stop(): void {
      cancelEnd = clock.after(LOOKS_ON_CLOSING_MS, () => {
        isClosed = true;
      });
    },
    close: () => cancelEnd(),
  };
}

function keysOf({ id, data: { clickId, sessionId } }: OutboxEvent): string[] {
  return [`id ${id}`, `click ${clickId ?? id}`, `session ${sessionId ?? id}`];
}
