import type { OutboxEvent } from "../conversion/events.js";
import type { Endpoint } from "../service/endpoints.js";
import { OutboxError } from "../shared/errors.js";
import type { OutboxCounts } from "./counts.js";
import type { DeadLetters, Death } from "./dead-letters.js";
import type { Person, PersonalEvent } from "./personal-data.js";

/** What attempts at an event have taught: plain JSON, stored unchanged, for the next claim. */
export interface History {
  /** How many attempts were made. */
  readonly attempts: number;
  /** How many failed while their endpoint was not paused: the event rests longer for each. */
  readonly failures: number;
  /** How often it was refused while other visitors' events were taken. */
  readonly refusals: number;
  /** Whether the service has asked for a pause in answer to it. */
  readonly throttled: boolean;
  /** Whether the service may have taken it. */
  readonly maybeTaken: boolean;
  /** When the last attempt ended, in milliseconds since the epoch; 0 if there was none. */
  readonly triedAt: number;
}

/** The history of an event that was never tried. */
export const UNTRIED: History = Object.freeze({
  attempts: 0,
  failures: 0,
  refusals: 0,
  throttled: false,
  maybeTaken: false,
  triedAt: 0,
});

/** What an attempt means for the outbox. */
export type Verdict =
  /** The service has it: forget the event, remember its id. */
  | {
      readonly type: "delivered";
      /** The service's number for a registration or payment. An outbox need not keep it. */
      readonly leadId?: number;
      /** The service must not get it: it was not sent. */
      readonly isSkipped?: boolean;
    }
  /** Send it again in `inMs`, with this history. The visitor's later events wait for it. */
  | { readonly type: "retry"; readonly inMs: number; readonly history: History; readonly because?: string }
  /** No attempt was made: send it later, as it was. */
  | { readonly type: "release" }
  /** Keep it as a dead letter, not tried unless the host asks. The visitor's next event passes. */
  | ({ readonly type: "dead" } & Death);

/** Events of one endpoint that may be sent now. */
export interface Lane {
  /** The endpoint that they go to. */
  readonly endpoint: Endpoint;
  /** How many at most. */
  readonly limit: number;
  /** Untried ones newest first, by when each became its visitor's next. Default: oldest first. */
  readonly newestFirst?: boolean;
  /**
   * Only untried events that have been their visitor's next for at most so many milliseconds; anew
   * when an event's urgency rises.
   */
  readonly newWithinMs?: number;
}

/** What may be sent at this moment. */
export interface Capacity {
  /** How many in all. May be infinite, as that of a lane. */
  readonly limit: number;
  /** Of equally urgent events, those of an earlier lane go first. Urgency comes before lanes. */
  readonly lanes: readonly Lane[];
}

/** An event whose turn it is, taken out of the outbox for one attempt. */
export interface Claim {
  /** What happened. */
  readonly event: OutboxEvent;
  /** The lane that it was claimed for. */
  readonly lane: Lane;
  /** What earlier attempts have taught. */
  readonly history: History;
  /**
   * Whether its process died during an attempt, whose end is unknown. `release` keeps it, `retry`
   * clears it.
   */
  readonly interrupted: boolean;
  /** Since when it waits, in milliseconds since the epoch: it happened, or was retried by hand. */
  readonly queuedAt: number;
  /**
   * False before another process may take the event. Asked before each request that may deliver it:
   * an outbox takes an event for which it was never asked as not sent. Omit it if no other process
   * can take it.
   */
  isLeased?(): boolean;
}

/** Sends events to the service. None of its methods throws. */
export interface Deliver {
  /** Which events may be sent at this moment. */
  capacity(): Capacity;
  /** Makes one attempt. Never rejects. */
  deliver(claim: Claim): Promise<Verdict>;
  /** Call it once a verdict is acted on: then listeners are called. `attempts`: as claimed. */
  settled(event: OutboxEvent, attempts: number, verdict: Verdict): void;
}

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

/** What became of an event that was given to a storage. */
export type Stored = Exclude<AddOutcome, "in-memory">;

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

/** Events of one endpoint without an answer, with names of their visitors. */
export interface Unanswered {
  /** Since the endpoint last took one: how long ago each was held, in milliseconds. */
  readonly held: readonly { readonly names: readonly string[]; readonly agoMs: number }[];
  /** Those that other processes have claimed now, by a number of the storage's. */
  readonly underWay: readonly { readonly names: readonly string[]; readonly number: number }[];
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
 *   registration, click), even while that event's endpoint has no lane. A claim goes through the
 *   steps of claim-steps.ts, and takes the heads of each by lanes, then by age;
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
