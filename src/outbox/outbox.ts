import { OutboxError } from "../errors.js";
import type { EventKind, OutboxEvent } from "../events.js";

/** What an attempt means for the outbox. */
export type Verdict =
  /** The service has it: forget the event, remember its id. */
  | { readonly is: "delivered" }
  /** Try again in `inMs`; the visitor's later events wait for it. */
  | ({ readonly is: "retry"; readonly inMs: number; readonly because?: string } & Doubt)
  /** Nothing was tried that counts: hand it over again as soon as there is room. */
  | ({ readonly is: "kept" } & Doubt)
  /** Nobody tries again unless somebody asks for it: keep it as a dead letter, let the visitor's next event pass. */
  | ({ readonly is: "dead" } & Death);

interface Doubt {
  /** Whether the service may have taken the event in this attempt or an earlier one. */
  readonly maybeTaken: boolean;
}

/**
 * Why an event was given up:
 *
 * - `rejected`: the service will not have it;
 * - `unconfirmed`: the service may have taken it, and it is not to be sent twice;
 * - `expired`: it has waited for too long.
 */
export type DeathReason = "rejected" | "unconfirmed" | "expired";

/** How an event ended that was not delivered. */
export interface Death {
  readonly reason: DeathReason;
  /** HTTP status of the last answer, if there was one. */
  readonly status?: number;
  /** Code of the last error (`ECONNRESET`), or the service's name for it (`Bad Request`). */
  readonly code?: string;
  readonly message?: string;
  /** How many attempts there were, the last one included. */
  readonly attempts: number;
}

/** An event whose turn it is. */
export interface LiveEvent {
  readonly event: OutboxEvent;
  /** How many attempts at it have failed. */
  readonly attempts: number;
  /** Whether the service may have taken it in an earlier attempt. */
  readonly maybeTaken: boolean;
  /** Whether an attempt at it had begun when its process died: nobody knows how that one ended. */
  readonly interrupted: boolean;
  /** Since when it has been waiting, in milliseconds since the epoch: when it happened, or was last retried by hand. */
  readonly queuedAt: number;
}

/** An event that was not delivered and will not be, unless somebody retries it. */
export interface DeadLetter extends Death {
  readonly id: string;
  readonly kind: EventKind;
  /** All that is known of it, e-mail address included: the specification's fields and the visitor's ids. */
  readonly event: OutboxEvent["data"];
  /** When it happened, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it was given up, in milliseconds since the epoch. */
  readonly diedAt: number;
}

/** Takes one event to the service. Never rejects. */
export interface Deliver {
  (live: LiveEvent): Promise<Verdict>;
  /** How many more events may be handed over at this moment; 0 while the destination is paused. */
  readonly room: number;
  /** To be called once a verdict is acted on: only then is anybody told of it. `attempts` as it was handed over. Never throws. */
  settled(event: OutboxEvent, attempts: number, verdict: Verdict): void;
}

/** Whom an outbox tells of what it does on its own. None of these throws. */
export interface OutboxObserver {
  /** An event that was waiting had to make room for a more important one, or a dead letter for a newer one. */
  dropped(event: OutboxEvent, reason: "full" | "dead-letters-full"): void;
  /** Something is wrong with the storage; events go on as well as they can. Once for each trouble, not for each event. */
  troubled(error: Error): void;
  /** The storage is well again. */
  recovered(): void;
}

/** What is in an outbox, in numbers. */
export interface OutboxCounts {
  /** Events that wait or are under way. */
  readonly queued: number;
  readonly dead: Readonly<Record<DeathReason, number>>;
  /** When the oldest of the queued happened, in milliseconds since the epoch; `null` where there is none. */
  readonly oldest: number | null;
  /** What is wrong with the storage at this moment, in words; absent where nothing is. */
  readonly trouble?: string;
}

/** Which dead letters to list. */
export interface DeadLetterQuery {
  /** At most so many, oldest first. Default 100. */
  readonly limit?: number;
}

/**
 * What became of an event that was added:
 *
 * - `queued`: stored, as durably as this outbox stores.
 * - `sheltered`: the storage is in trouble; it waits in memory, and is stored when that is over.
 * - `duplicate`: its id is known.
 * - `full`: not stored; there is no room for an event of its kind.
 */
export type AddOutcome = "queued" | "sheltered" | "duplicate" | "full";

/**
 * Where events wait. Whoever writes one promises:
 *
 * - **once**: an id that is known (waiting, dead, or delivered not long ago) is not stored again;
 * - **in order**: an event is handed over only when no earlier live event shares its click id or its session id;
 *   a retry holds back its visitor and nobody else; dead letters hold back nobody;
 * - **bounded**: when full, clicks are shed first, then registrations, payments last.
 *
 * `testOutbox` of `express-affiliate/testing` puts an implementation to the test.
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
  /** Begins handing events to `deliver`, one at a time for each visitor, as long as it has room; acts on its verdicts. Called once. */
  start(deliver: Deliver, observer: OutboxObserver): void;
  /** `deliver` has room again. */
  wake(): void;
  /** As of now, or as of moments ago where counting means asking a server. */
  counts(): OutboxCounts;
  /** Where counting means asking a server: asks it now. What `counts()` says from there on. */
  look?(): Promise<OutboxCounts>;
  readonly deadLetters: {
    /** The dead letters, oldest first. */
    list(query?: DeadLetterQuery): Promise<readonly DeadLetter[]>;
    /** Queues it again, as the last of its visitor's. `false` where there is no such dead letter. */
    retry(id: string): Promise<boolean>;
    /** Queues all of them again, in the order in which they happened. Resolves to their number. */
    retryAll(): Promise<number>;
    /** Forgets it, but not its id: reported again, it is still a duplicate. `false` where there is no such dead letter. */
    discard(id: string): Promise<boolean>;
  };
  /** Hands over nothing more. Awaits the verdicts of what is under way, then lets go of files, connections and timers. */
  close(): Promise<void>;
}

/** Which kind gives way to which when an outbox is full: the first is shed first. */
export const SHEDDING_ORDER: readonly EventKind[] = ["click", "registration", "payment"];

/** The kinds that give way to this one, in the order in which they do. */
export function kindsBelow(kind: EventKind): readonly EventKind[] {
  return SHEDDING_ORDER.slice(0, SHEDDING_ORDER.indexOf(kind));
}

/** What `add` rejects with that can take no part in the host's transaction. */
export function noTransaction(factory: string): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_TRANSACTION",
    `${factory}: cannot take part in a transaction; use postgresOutbox, or track once the transaction has committed`,
  );
}

const BYTES_AROUND_TEXTS = 600;

/** About how many bytes of heap an event takes that waits: its texts, the objects around them, and its places in line. */
export function sizeOf({ data }: OutboxEvent): number {
  let size = BYTES_AROUND_TEXTS;
  for (const value of Object.values(data)) size += typeof value === "string" ? value.length : 8;
  return size;
}
