import * as z from "zod/mini";
import type { OutboxEvent } from "../conversion/events.js";
import { type Clock, systemClock } from "../shared/clock.js";
import { readOptions } from "../shared/read-options.js";
import type { Circuits } from "./circuits.js";
import type { Capacity, Claim, Verdict } from "./claim.js";
import {
  type DeadLetter,
  type DeadLetterQuery,
  isRetried,
  matchesFilter,
  type StoredDeadLetters,
} from "./dead-letters.js";
import { createDurable } from "./durable.js";
import { MIB, positiveInteger } from "./option-types.js";
import type { CancelOutcome, Outbox, OutboxCounts, OutboxObserver } from "./outbox.js";
import type { PersonalStorage } from "./personal-data.js";
import { wakeForRetry } from "./verdicts.js";

/** What a storage calls when it changes something on its own. */
export interface StorageNotices {
  /** Something may be ready: another process has stored an event, for example. */
  wake(): void;
  /** See `OutboxObserver`. */
  readonly dropped: OutboxObserver["dropped"];
}

/**
 * The parts of an outbox. `append`, `claim` and `settle` reject while the store cannot be reached.
 * Then events wait in memory, in order, until it works: so an event may come to `append` twice, and
 * a verdict to `settle`.
 */
export interface OutboxParts<C extends Claim = Claim> {
  /** The technology, for log lines and errors: `redis` of `redisOutbox`. */
  readonly name: string;
  /** Whether what is stored outlives the process. Default `true`. */
  readonly durable?: boolean | undefined;
  /**
   * How often the store is asked for events that became ready or that another process stored, in
   * milliseconds. Default 1,000.
   */
  readonly pollMs?: number | undefined;
  /** Most bytes of events in memory while the store fails, roughly. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
  /**
   * Stores the event, unless its id is known. Calls overlap: their order is the order of events. So
   * a call that fails rejects before a later one stores its event. Turn off what your
   * driver repeats or queues by itself: it could store an event after a later one.
   */
  append(event: OutboxEvent, notices: StorageNotices): Promise<"queued" | "duplicate" | "full">;
  /** Stores it in the host's own transaction. Without it, such a report is refused. */
  appendIn?(transaction: unknown, event: OutboxEvent): Promise<"queued" | "duplicate" | "full">;
  /**
   * Claims ready events of one destination, as the lanes allow: `claimStepsOf` says in which order.
   * One call at a time. No other call gets them until they are settled, or their process's lease
   * has ended. Gives back, as it was, what this process has claimed by a call that rejected.
   */
  claim(capacity: Capacity): Promise<readonly C[]>;
  /**
   * Acts on the verdict of a claimed event, unless another process has claimed it since. Then it
   * resolves to `false`, and no listener is called. Called again, because an answer was lost, it
   * resolves as the first call did.
   */
  settle(claim: C, verdict: Verdict, notices: StorageNotices): Promise<unknown>;
  /**
   * What the store has of one destination, as the last answer said, for example. `start` asks for
   * it, too: without capacity, `claim` is not called.
   */
  counts(destination: number): Omit<OutboxCounts, "trouble">;
  /** The dead letters of one destination. */
  readonly deadLetters: {
    /** Oldest first. May be more than the query means. */
    list(destination: number, query: DeadLetterQuery): Promise<readonly DeadLetter[]>;
    /** Queues it again, as the last of its visitor's. `false` if there is no such dead letter. */
    retry(destination: number, id: string): Promise<boolean>;
    /** Forgets it, but not its id. `false` if there is no such dead letter. */
    discard(destination: number, id: string): Promise<boolean>;
  };
  /** See `Outbox`. In a store of texts, write a circuit's fields in an order of your own. */
  readonly circuits?: Circuits | undefined;
  /**
   * Withdraws a scheduled payment: see `Outbox`. Keep the ids of withdrawn ones apart. With it,
   * `append` keeps a payment apart until its `data.notBefore`, which is then its `createdAt` and
   * `queuedAt`, and `counts` has `scheduled`. Without it, the outbox gets no such payment.
   */
  cancel?(destination: number, id: string): Promise<CancelOutcome>;
  /** To search for a person's events. Without it, `personalData` and `erase` are refused. */
  readonly personal?: PersonalStorage | undefined;
  /** Begin to renew leases, and to listen for what other processes store for this destination. */
  start?(notices: StorageNotices, destination: number): void;
  /** Every call has ended: close files, connections and timers. */
  close?(): Promise<void>;
}

const NOTHING: Omit<OutboxCounts, "trouble"> = {
  queued: 0,
  dead: { rejected: 0, unconfirmed: 0, expired: 0 },
  oldest: null,
};

const aMethod = z.custom<unknown>((value) => typeof value === "function", { error: "must be a function" });
const aFlag = (usual: boolean) => z._default(z.boolean({ error: "must be true or false" }), usual);
const aName = { error: "must be a name, such as redis" };

const schema = z.object({
  name: z.string(aName).check(z.minLength(1, aName)),
  durable: aFlag(true),
  pollMs: positiveInteger(1_000),
  maxMemoryBytes: positiveInteger(64 * MIB),
  append: aMethod,
  claim: aMethod,
  settle: aMethod,
  counts: aMethod,
});

/**
 * Makes an outbox of a store that keeps the events of each destination apart, with the relay,
 * fallback to memory and closing of `diskOutbox` and `postgresOutbox`. Test it with `testOutbox`.
 * @throws OptionsError
 */
export function createOutbox<C extends Claim = Claim>(parts: OutboxParts<C>): Outbox;
/** @internal */
export function createOutbox<C extends Claim = Claim>(parts: OutboxParts<C>, clock?: Clock): Outbox;
export function createOutbox<C extends Claim = Claim>(
  parts: OutboxParts<C>,
  clock: Clock = systemClock,
): Outbox {
  const { name, durable, pollMs, maxMemoryBytes } = readOptions("createOutbox", schema, parts);
  let cancelPoll = () => {};

  const { outbox, wake, notify } = createDurable<C>(
    {
      append: (event) => parts.append(event, notices),
      ...(parts.appendIn && { appendIn: parts.appendIn.bind(parts) }),
      claim: (capacity) => parts.claim(capacity),
      async settle(claim, verdict) {
        const isActedOn = await parts.settle(claim, verdict, notices);
        wakeForRetry(verdict, { pollMs, clock, wake });
        return isActedOn;
      },
      counts: (destination) => (destination === undefined ? NOTHING : parts.counts(destination)),
      deadLetters: deadLettersOf(parts.deadLetters, () => wake()),
      circuits: parts.circuits,
      ...(parts.cancel && {
        cancel: async (id: string, destination: number) => parts.cancel?.(destination, id) ?? "unknown",
      }),
      personal: parts.personal,
      start(destination) {
        parts.start?.(notices, destination);
        poll();
      },
      stop: () => cancelPoll(),
      close: async () => parts.close?.(),
    },
    { name, survives: durable, maxMemoryBytes, clock },
  );
  const notices: StorageNotices = {
    wake,
    dropped: (event, reason) => notify((to) => to.dropped(event, reason)),
  };

  function poll(): void {
    wake();
    cancelPoll = clock.after(pollMs, poll);
  }

  return outbox;
}

function deadLettersOf(stored: OutboxParts["deadLetters"], wake: () => void): StoredDeadLetters {
  async function list({ limit = 100, ...filter }: DeadLetterQuery, destination: number | undefined) {
    if (destination === undefined) return [];
    const letters = await stored.list(destination, { limit, ...filter });
    return letters.filter((letter) => matchesFilter(letter, filter)).slice(0, limit);
  }

  async function retry(id: string, destination: number | undefined): Promise<boolean> {
    if (destination === undefined) return false;
    const isQueued = await stored.retry(destination, id);
    wake();
    return isQueued;
  }

  return {
    list,
    retry,
    async retryAll(filter, destination) {
      const letters = await list({ ...filter, limit: Number.POSITIVE_INFINITY }, destination);
      const matching = letters.filter((letter) => isRetried(letter, filter));
      let retried = 0;
      for (const { id } of matching.sort((one, other) => one.createdAt - other.createdAt)) {
        if (await retry(id, destination)) retried++;
      }
      return retried;
    },
    discard: async (id, destination) => destination !== undefined && stored.discard(destination, id),
  };
}
