import type { OutboxEvent } from "../../../conversion/events.js";
import type { DurableStorage } from "../../durable.js";
import type { Capacity, Claim, Stored, Verdict } from "../../outbox.js";
import type { Counts } from "../../queue/counts.js";
import type { Database } from "../../queue/database.js";
import { lastEventsIn } from "../../queue/last-events.js";
import type { QueueClaim, Settled } from "../../queue/leases.js";
import { pagesOf } from "../../queue/personal.js";
import type { Queue } from "../../queue/queue.js";

/** A claim as it is sent between threads. */
export interface DiskClaim
  extends Claim,
    Pick<QueueClaim, "seq" | "visitor" | "endpoint" | "size" | "dueAt"> {}

/** What the store does for each call alone. */
export function createSingleCalls(database: Database, queue: Queue, counts: Counts) {
  const { deadLetters, personal, unanswered, cancel, knownOf, queueAllDue } = queue;
  return {
    ...deadLetters,
    unanswered,
    cancel,
    knownOf,
    queueAllDue,
    page: personal.page,
    /** Resolves to how many events were removed. */
    erase: personal.remove,
    /** Resolves to how many payments waited. */
    hold: queue.hold,
    last: (limit: number) => lastEventsIn(database, limit),
    count: () => counts.take(),
    claim: async (capacity: Capacity): Promise<DiskClaim[]> =>
      (await queue.claim(capacity)).map(({ isLeased: _, leaseAskedAt: __, ...claim }) => claim),
  };
}

export type SingleCalls = Omit<ReturnType<typeof createSingleCalls>, "decided">;

/** What the host asks of the thread, or the command of the file. */
export interface Calls extends SingleCalls {
  append(event: OutboxEvent): Promise<Stored>;
  /** Resolves to whether it had an effect: the event may be another process's by now. */
  settle(claim: Settled, verdict: Verdict): Promise<boolean>;
}

/** A call as a message. */
export type Call = {
  [Name in keyof Calls]: { readonly name: Name; readonly args: Readonly<Parameters<Calls[Name]>> };
}[keyof Calls];

/** Calls of which each becomes a message. */
export function callsThrough(ask: (call: Call) => Promise<unknown>): Calls {
  return new Proxy({} as Calls, {
    get(_, name) {
      return (...args: unknown[]) => ask({ name, args } as unknown as Call);
    },
  });
}

/** Without its data: the thread has it. */
export function settledOf(claim: DiskClaim): Settled {
  const { seq, visitor, endpoint, size, dueAt, history } = claim;
  const { id, destination, kind } = claim.event;
  return { seq, visitor, endpoint, size, dueAt, history, event: { id, destination, kind } };
}

/** What a file's users ask for, apart from delivery. The thread's next look finds what is retried. */
export function storageOf(calls: Calls) {
  const { list, sums, ids, retry, retryAll, discard, unanswered, cancel } = calls;
  return {
    look: calls.count,
    deadLetters: { list, sums, ids, retry, retryAll, discard },
    unanswered,
    cancel,
    personal: { pages: () => pagesOf(calls.page), remove: calls.erase },
  } satisfies Partial<DurableStorage<DiskClaim>>;
}
