import type { OutboxEvent } from "../conversion/events.js";
import type { Endpoint } from "../service/endpoints.js";
import { OutboxError } from "../shared/errors.js";
import type { Deliver } from "./claim.js";
import type { OutboxCounts } from "./counts.js";
import type { DeadLetters } from "./dead-letters.js";
import type { Person, PersonalEvent } from "./personal-data.js";

export type { OutboxCounts, QueuedOfKind } from "./counts.js";

/** Called by an outbox that does something on its own. None of these throws. */
export interface OutboxObserver {
  /**
   * A waiting event was dropped for a more urgent one, or for its visitor's newer clicks; or a dead
   * letter for a newer one.
   */
  dropped(event: OutboxEvent, reason: "full" | "visitor-full" | "dead-letters-full"): void;
  /** The storage fails: events wait in memory, nothing is sent. Called once until it recovers. */
  degraded(error: Error): void;
  /** The storage works again, and has what waited in memory. */
  recovered(): void;
  /** A queued event was erased. Outboxes that outlive the process need not call it. */
  erased?(event: OutboxEvent): void;
  /** A setting of the server lets it lose what it has stored. Called once for each. */
  cautioned?(caution: string): void;
}

/**
 * What became of an event that was added:
 *
 * - `queued`: stored, as durably as this outbox stores.
 * - `in-memory`: the storage fails; it waits in memory, and is stored later.
 * - `duplicate`: its id is known.
 * - `full`: not stored; the outbox is full, and has nothing less urgent.
 */
export type AddOutcome = "queued" | "in-memory" | "duplicate" | "full";

/**
 * What became of a payment that was to be cancelled:
 *
 * - `cancelled`: it was scheduled, and is never sent. Also if it had been cancelled before.
 * - `sent`: it is no longer scheduled: it is queued, delivered or given up.
 * - `unknown`: its id is not known.
 *
 * @inline
 */
export type CancelOutcome = "cancelled" | "sent" | "unknown";

/** Events of one endpoint without an answer. */
export interface Unanswered {
  /** Since the endpoint last took one: how long ago each was held, in milliseconds. */
  readonly heldMs: readonly number[];
  /** Those that other processes have claimed now, by a number of the storage's. */
  readonly underWay: readonly number[];
}

/**
 * Where events wait. Every outbox promises:
 *
 * - **its own**: an event belongs to a client id, its `destination`. Once bound, an outbox claims,
 *   counts, lists and changes the events of one client id;
 * - **once**: an id that is known (waiting, dead, or delivered not long ago) is not stored again;
 * - **in order**: an event is claimed only when no earlier live event of its visitor is left. A
 *   visitor has one key: that of a live event that shares the click id or the session id, otherwise
 *   the session id, otherwise the click id. A retry holds back its visitor alone; dead letters hold
 *   back nothing;
 * - **the urgent first**: a visitor's queue is as urgent as its most urgent event (payment,
 *   registration, click), even while that event's endpoint has no lane. A claim takes, in this
 *   order, and in each step by lanes and then by age, heads of queues that are
 *   1. as urgent as a payment: never tried, then tried;
 *   2. as urgent as a registration, then as a click: never tried;
 *   3. as urgent as a registration, then as a click: tried;
 * - **scheduled**: a payment with a `notBefore` in the future, by the storage's clock, is in no
 *   queue: it holds back nothing, and makes no queue more urgent. Once due, it goes to the end of
 *   its visitor's queue as if it had happened then;
 * - **bounded**: when full, the least urgent are shed first: clicks that no conversion waits for,
 *   then what no payment waits for. What a payment waits for, even one that just comes, is kept
 *   like a payment. A visitor has at most `CLICKS_OF_A_VISITOR` live clicks; a new one replaces the
 *   oldest. Of dead letters, clicks are evicted first, then registrations. Known ids are bounded
 *   for each kind apart: no click makes an outbox forget a payment.
 */
export interface Outbox {
  /** For log lines: `memory`, `disk`, `postgres`. */
  readonly name: string;
  /** Whether what is queued at this moment outlives the process. */
  readonly durable: boolean;
  /**
   * Whether `add` keeps the event from a `kill -9` before it returns. Then a wrapped handler's
   * response is held until that, for a turn of the event loop at most.
   */
  readonly storesAtOnce?: boolean;
  /**
   * From here on, it is about the events of this client id; before, about all that its storage has.
   * Called once, before `start`.
   *
   * @throws OutboxError `ERR_AFFILIATE_OUTBOX_TAKEN` if it is bound.
   */
  bind(clientId: number): void;
  /**
   * Stores the event, unless its id is known. Resolves when it is as durable as it gets. May be
   * called before `start`. If it rejects, the receipt says `rejected`. `transaction` is the host's
   * own; an outbox that can take no part in one rejects.
   */
  add(event: OutboxEvent, options?: { readonly transaction?: unknown }): Promise<AddOutcome>;
  /**
   * Begins to call `deliver`, with one event at a time for each visitor, as its capacity allows,
   * and acts on verdicts. Called once.
   */
  start(deliver: Deliver, observer: OutboxObserver): void;
  /** `deliver` may have new capacity. */
  wake(): void;
  /**
   * Whether nothing is under way, and nothing may be sent now: events rest, or endpoints are
   * paused. Without it, `flush()` waits until its time is up.
   */
  readonly idle?: boolean;
  /** As of now, or of moments ago if other processes use the storage. */
  counts(): OutboxCounts;
  /** Counts anew. Resolves to what `counts()` says from then on. */
  look(): Promise<OutboxCounts>;
  /** Events that were given up. */
  readonly deadLetters: DeadLetters;
  /**
   * What the processes on one storage, also earlier ones, show of an endpoint that leaves events
   * without an answer. Without it, each judges by its own attempts.
   */
  readonly unanswered?: ((endpoint: Endpoint) => Promise<Unanswered>) | undefined;
  /** Withdraws a scheduled payment, whose id stays known. */
  cancel(id: string): Promise<CancelOutcome>;
  /** A person's queued events and dead letters. Rejects with ArgumentError if it is no `Person`. */
  personalData(person: Person): Promise<readonly PersonalEvent[]>;
  /**
   * Removes a person's events, except those under way. Ids stay known. Resolves to the number of
   * events. Rejects as `personalData` does.
   */
  erase(person: Person): Promise<number>;
  /**
   * Sends no more. Awaits verdicts of what is under way, then closes files, connections, timers.
   */
  close(): Promise<void>;
}

/** How many live clicks a visitor has at most. */
export const CLICKS_OF_A_VISITOR = 100;

/** `add` rejects with it if the outbox can take no part in the host's transaction. */
export function noTransaction(factory: string): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_TRANSACTION",
    `${factory}: cannot take part in a transaction; use postgresOutbox or mysqlOutbox, or track once the transaction has committed`,
  );
}

/** `bind` throws it the second time. */
export function taken(factory: string): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_OUTBOX_TAKEN",
    `${factory}: it is another tracker's already; give each tracker an outbox of its own (two may share a directory or a schema)`,
  );
}

/** What is asked of an outbox rejects with it once the outbox is closed. */
export function closed(factory: string): OutboxError {
  return new OutboxError("ERR_AFFILIATE_OUTBOX_CLOSED", `${factory}: it is closed`);
}
