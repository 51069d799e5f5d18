import * as z from "zod/mini";
import type { OutboxEvent } from "../events.js";
import { type Clock, systemClock } from "../shared/clock.js";
import { readOptions } from "../shared/read-options.js";
import type { Circuits } from "./circuits.js";
import {
  type DeadLetter,
  type DeadLetterQuery,
  isMeant,
  isRetried,
  type StoredDeadLetters,
} from "./dead-letters.js";
import { createDurable } from "./durable.js";
import { MIB, positiveInteger } from "./option-types.js";
import type {
  CancelOutcome,
  Capacity,
  Claim,
  Outbox,
  OutboxCounts,
  OutboxObserver,
  Verdict,
} from "./outbox.js";
import type { PersonalStorage } from "./personal-data.js";
import { wakeForRetry } from "./verdicts.js";

/** What a storage calls to tell of what it does on its own. */
export interface StorageNotices {
  /** Something may have become ready: another process has stored an event, for example. */
  wake(): void;
  /** An event was shed: see `OutboxObserver`. */
  readonly dropped: OutboxObserver["dropped"];
}

/**
 * The parts of an outbox. `append`, `claim` and `settle` reject while the store cannot be reached: events wait in memory then,
 * in order, and go to `append` again once it can. So an event may come to `append` a second time, and a verdict to `settle`.
 */
export interface OutboxParts<C extends Claim = Claim> {
  /** The technology, for log lines and errors: `redis` of `redisOutbox`. */
  readonly name: string;
  /** Whether what is stored outlives the process. Default `true`. */
  readonly durable?: boolean | undefined;
  /** How often the store is asked for events whose time has come, or that another process has stored, in milliseconds. Default 1,000. */
  readonly pollMs?: number | undefined;
  /** How many bytes of events wait in memory at most while the store fails, by a rough count. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
  /** Stores the event, unless its id is known. */
  append(event: OutboxEvent, notices: StorageNotices): Promise<"queued" | "duplicate" | "full">;
  /** Stores the event as part of the host's own transaction. Without it, such a report is refused. */
  appendIn?(transaction: unknown, event: OutboxEvent): Promise<"queued" | "duplicate" | "full">;
  /** Claims ready events of one destination, as the lanes allow; no other call gets them until they are settled. */
  claim(capacity: Capacity): Promise<readonly C[]>;
  /** Acts on the verdict of a claimed event. */
  settle(claim: C, verdict: Verdict, notices: StorageNotices): Promise<void>;
  /** What the store has of one destination, as far as this process knows. */
  counts(destination: number): Omit<OutboxCounts, "trouble">;
  /** The dead letters of one destination. */
  readonly deadLetters: {
    /** Oldest first: those that the query means, or more. */
    list(destination: number, query: DeadLetterQuery): Promise<readonly DeadLetter[]>;
    /** Queues it again, as the last of its visitor's. `false` where there is no such dead letter. */
    retry(destination: number, id: string): Promise<boolean>;
    /** Forgets it, but not its id. `false` where there is no such dead letter. */
    discard(destination: number, id: string): Promise<boolean>;
  };
  /** See `Outbox`. */
  readonly circuits?: Circuits | undefined;
  /**
   * Withdraws a scheduled payment: see `Outbox`. With it, `append` keeps a payment apart from the queue until its `data.notBefore`, and
   * `counts` has `scheduled`. Without it, the outbox is given no such payment.
   */
  cancel?(destination: number, id: string): Promise<CancelOutcome>;
  /** For the search for a person's events. Without it, `personalData` and `erase` are refused. */
  readonly personal?: PersonalStorage | undefined;
  /** The outbox has been started for one destination: the time to listen for what other processes store. */
  start?(notices: StorageNotices, destination: number): void;
  /** Every call has ended: lets go of files, connections and timers. */
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
 * Makes an outbox of a store that keeps the events of each destination apart. It has the relay, the fallback to memory and the
 * order of closing of `diskOutbox` and `postgresOutbox`. Test the result with `testOutbox`.
 *
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

  const { outbox, wake, tell } = createDurable<C>(
    {
      append: (event) => parts.append(event, notices),
      ...(parts.appendIn && {
        appendIn: (transaction: unknown, event: OutboxEvent) =>
          (parts as Required<OutboxParts<C>>).appendIn(transaction, event),
      }),
      claim: (capacity) => parts.claim(capacity),
      async settle(claim, verdict) {
        await parts.settle(claim, verdict, notices);
        wakeForRetry(verdict, { pollMs, clock, wake });
      },
      counts: (destination) => (destination === undefined ? NOTHING : parts.counts(destination)),
      deadLetters: deadLettersOf(parts.deadLetters, () => wake()),
      circuits: parts.circuits,
      ...(parts.cancel && {
        cancel: async (id: string, destination: number | undefined) =>
          destination === undefined
            ? ("unknown" as const)
            : (parts as Required<OutboxParts<C>>).cancel(destination, id),
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
    dropped: (event, reason) => tell((to) => to.dropped(event, reason)),
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
    return letters.filter((letter) => isMeant(letter, filter)).slice(0, limit);
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
      const meant = letters.filter((letter) => isRetried(letter, filter));
      let retried = 0;
      for (const { id } of meant.sort((one, other) => one.createdAt - other.createdAt)) {
        if (await retry(id, destination)) retried++;
      }
      return retried;
    },
    discard: async (id, destination) => destination !== undefined && stored.discard(destination, id),
  };
}
