import type { OutboxEvent } from "../events.js";
import type { Endpoint } from "../service/endpoints.js";
import { OutboxError } from "../shared/errors.js";
import type { Circuits } from "./circuits.js";
import type { OutboxCounts } from "./counts.js";
import type { DeadLetters, Death } from "./dead-letters.js";
import type { Person, PersonalEvent } from "./personal-data.js";
import type { RemoteDelivery } from "./remote.js";
import type { Urgency } from "./urgency.js";

export type { OutboxCounts, QueuedOfKind } from "./counts.js";

/** What the attempts at an event have taught. Plain JSON: an outbox stores it as it gets it, and hands it over again. */
export interface History {
  /** How many attempts were made. */
  readonly attempts: number;
  /** How many of them failed while their endpoint was not paused: the event rests the longer for each. */
  readonly failures: number;
  /** How often it was refused while other visitors' events were taken. */
  readonly refusals: number;
  /** Whether the service has asked for a pause in answer to it. */
  readonly throttled: boolean;
  /** Whether the service may have taken it. */
  readonly maybeTaken: boolean;
  /** When the last attempt ended, in milliseconds since the epoch; 0 where there was none. */
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
      /** The service's own number for a registration or a payment. For listeners: an outbox need not keep it. */
      readonly leadId?: number;
    }
  /** The service must not get it: forget the event, remember its id. An outbox gets `delivered` instead. */
  | { readonly type: "skipped"; readonly reason: "not-referred" }
  /** The attempt failed: hand the event over again in `inMs`, with this history. The visitor's later events wait for it. */
  | { readonly type: "retry"; readonly inMs: number; readonly history: History; readonly because?: string }
  /** No attempt was made: hand it over again as it was. */
  | { readonly type: "release" }
  /** Not tried again unless the host asks for it: keep it as a dead letter, let the visitor's next event pass. */
  | ({ readonly type: "dead" } & Death);

/** Events of one endpoint that may be handed over now. */
export interface Lane {
  /** The endpoint that they go to. */
  readonly endpoint: Endpoint;
  /** How many at most. */
  readonly limit: number;
  /** Newest first among untried events: by when each became its visitor's next. Default: oldest first. */
  readonly newestFirst?: boolean;
  /**
   * Only untried events that have been their visitor's next for at most so many milliseconds. When an event's urgency rises, the
   * time begins anew.
   */
  readonly newWithinMs?: number;
  /** Whether an event that rests may be handed over too, if no other is ready. */
  readonly evenResting?: boolean;
}

/** What may be handed over at this moment. */
export interface Capacity {
  /** Only events of this destination. */
  readonly destination: number;
  /** How many in all. */
  readonly limit: number;
  /** Of equally urgent events, those of an earlier lane go first. A more urgent event of the last lane goes before a less urgent one of the first. */
  readonly lanes: readonly Lane[];
}

/** An event whose turn it is, taken out of the outbox for one attempt. */
export interface Claim {
  /** The event. */
  readonly event: OutboxEvent;
  /** The one that it was claimed for. */
  readonly lane: Lane;
  /** How urgent it is. Without it: as its kind. */
  readonly urgency?: Urgency;
  /** What earlier attempts have taught. */
  readonly history: History;
  /** Whether its process died during an attempt at it: how that attempt ended is unknown. */
  readonly interrupted: boolean;
  /** Since when it has been waiting, in milliseconds since the epoch: when it happened, or was last retried by hand. */
  readonly queuedAt: number;
  /** False once another process took the event. Omit it if that cannot happen. */
  isHeld?(): boolean;
}

/** Takes events to the service. None of its methods throws. */
export interface Deliver {
  /** Whose events it takes: the outbox hands over, counts and lists no others. */
  readonly destination: number;
  /** Which events may be handed over at this moment. */
  capacity(): Capacity;
  /** Makes one attempt. Never rejects. */
  deliver(claim: Claim): Promise<Verdict>;
  /** To be called once a verdict is acted on: only then are listeners told of it. `attempts`: of the history that was claimed. */
  settled(event: OutboxEvent, attempts: number, verdict: Verdict): void;
  /** @internal For an outbox that delivers in a thread of its own. Absent where this process delivers nothing. */
  readonly remote?: RemoteDelivery | undefined;
}

/** Whom an outbox tells of what it does on its own. None of these throws. */
export interface OutboxObserver {
  /** A waiting event was dropped for a more urgent one, or for its visitor's newer clicks; or a dead letter for a newer one. */
  dropped(event: OutboxEvent, reason: "full" | "visitor-full" | "dead-letters-full"): void;
  /** The storage fails: events wait in memory, and nothing is handed over. Told once until it has recovered, not for each event. */
  degraded(error: Error): void;
  /** The storage works again, and has what waited in memory. */
  recovered(): void;
  /** The storage works, and a setting of its server lets it lose what it has stored. Told once for each. */
  cautioned?(caution: string): void;
}

/**
 * What became of an event that was added:
 *
 * - `queued`: stored, as durably as this outbox stores.
 * - `in-memory`: the storage fails; it waits in memory, and is stored once the storage has recovered.
 * - `duplicate`: its id is known.
 * - `full`: not stored; the outbox is full, and holds nothing that is less urgent.
 */
export type AddOutcome = "queued" | "in-memory" | "duplicate" | "full";

/**
 * What became of a payment that was to be cancelled:
 *
 * - `cancelled`: it was scheduled, and is never sent. Also if it had been cancelled before.
 * - `sent`: its id is known, and it is not scheduled: it is queued, delivered or given up.
 * - `unknown`: its id is not known.
 */
export type CancelOutcome = "cancelled" | "sent" | "unknown";

/**
 * Where events wait. Every outbox promises:
 *
 * - **its own**: an event belongs to its `destination`, a client id. Once started, an outbox hands over, counts and lists the events of one
 *   destination; ids and visitors of different destinations have nothing to do with each other;
 * - **once**: an id that is known (waiting, dead, or delivered not long ago) is not stored again;
 * - **in order**: an event is handed over only when no earlier live event shares its click id or its session id;
 *   a retry holds back its visitor alone; dead letters hold back no event;
 * - **the urgent first**: an event is as urgent as its kind (payment, registration, click), and as the most urgent live event
 *   that waits behind it, over as many steps as there are: the click of a visitor who has paid is as urgent as a payment. An
 *   event lends its urgency also while its own endpoint has no lane. A claim takes what is as urgent as a payment, first what
 *   was never tried; then registrations and what they wait for, then clicks, all that were never tried; then those that were
 *   tried, in the same order. In each of these steps it takes lanes in their order, and of a lane the older first;
 * - **scheduled**: a payment with a `notBefore` in the future, by the storage's clock, is in no queue. It holds back no event and lends no
 *   urgency. Once it is due, it goes to the end of its visitor's queue as if it had happened then. Only with `cancel`;
 * - **bounded**: when full, the least urgent are shed first: clicks that no conversion waits for, then what no payment waits
 *   for. What a payment waits for is kept like a payment, also where that payment is the one that comes. A visitor has at
 *   most `CLICKS_OF_A_VISITOR` live clicks, of which the oldest gives way to a new one. Of dead letters clicks give way first,
 *   then registrations, and the ids that are known are bounded for each kind apart: no click makes an outbox forget a payment.
 *
 * `testOutbox` of `express-affiliate/outbox` puts an implementation to the test.
 */
export interface Outbox {
  /** For log lines: `memory`, `disk`, `postgres`. */
  readonly name: string;
  /** Whether what is queued at this moment outlives the process. */
  readonly durable: boolean;
  /**
   * Stores the event, unless its id is known. Resolves when it is as durable as it gets. May be called before `start`.
   * Where it rejects, the host's handler does not hear of it: the receipt says `rejected`.
   * `transaction` is the host's own; an outbox that can take no part in one rejects.
   */
  add(event: OutboxEvent, options?: { readonly transaction?: unknown }): Promise<AddOutcome>;
  /**
   * Begins handing events to `deliver`, one at a time for each visitor, as its capacity allows; acts on its verdicts. Called
   * once. Before it, `counts()` and `deadLetters` are those of all destinations, as far as the outbox can tell.
   */
  start(deliver: Deliver, observer: OutboxObserver): void;
  /** `deliver` may have capacity that it had not. */
  wake(): void;
  /**
   * Whether nothing is under way, and nothing of what waits may be handed over now: all of it rests, or its endpoint is
   * paused. Without it, `flush()` waits until its time is up.
   */
  readonly idle?: boolean;
  /** As of now, or as of moments ago where counting means asking a server. */
  counts(): OutboxCounts;
  /** Where counting means asking a server: asks it now. What `counts()` says from there on. */
  look?(): Promise<OutboxCounts>;
  /** Events that were given up. */
  readonly deadLetters: DeadLetters;
  /**
   * Where the processes on one storage share what they know of endpoints that swallow payments, also for a process that starts later.
   * Without it, each process goes by what it has itself seen.
   */
  readonly circuits?: Circuits | undefined;
  /** Withdraws a scheduled payment. Its id stays known. Without it, the outbox is given no payment whose `notBefore` is in the future. */
  cancel?(id: string): Promise<CancelOutcome>;
  /** Lists the queued events and dead letters of a person. Rejects with an ArgumentError if the person is no `Person`. */
  personalData?(person: Person): Promise<readonly PersonalEvent[]>;
  /** Removes a person's events but those under way; their ids stay known. Resolves to their number. Rejects as `personalData` does. */
  erase?(person: Person): Promise<number>;
  /** Hands over nothing more. Awaits the verdicts of what is under way, then lets go of files, connections and timers. */
  close(): Promise<void>;
}

/** How many clicks of one visitor wait at most. */
export const CLICKS_OF_A_VISITOR = 100;

/** What `add` rejects with that can take no part in the host's transaction. */
export function noTransaction(factory: string): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_TRANSACTION",
    `${factory}: cannot take part in a transaction; use postgresOutbox or mysqlOutbox, or track once the transaction has committed`,
  );
}
