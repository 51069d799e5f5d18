import { type EventKind, type OutboxEvent, shownData } from "../conversion/events.js";
import { ArgumentError, OutboxError } from "../shared/errors.js";
import { shown } from "../shared/printable.js";

/**
 * Why an event was given up:
 *
 * - `rejected`: the service refuses it for good;
 * - `unconfirmed`: the service may have it, and it must not be sent twice;
 * - `expired`: it has waited for too long.
 */
export type DeathReason = "rejected" | "unconfirmed" | "expired";

export const DEATH_REASONS: readonly DeathReason[] = ["rejected", "unconfirmed", "expired"];

/** Why and how an event was given up. @inline */
export interface Death {
  /** Why it was given up. */
  readonly reason: DeathReason;
  /** HTTP status of the last answer, if there was one. */
  readonly status?: number;
  /** Code of the last error (`ECONNRESET`), or the service's name for it (`Bad Request`). */
  readonly code?: string;
  /** What the service or Node said of the last attempt. */
  readonly message?: string;
  /** How many attempts there were, the last one included. */
  readonly attempts: number;
}

/** Of a payment that waited when the command `hold` ran. */
export const HELD: Omit<Death, "attempts"> = {
  reason: "unconfirmed",
  code: "ERR_HELD",
  message: "held after a restore: the service may have it",
};

const HELD_AT_ONCE = 500;

/** Holds all payments that wait, so many at a time. Resolves to their number. */
export async function holdAll(hold: (limit: number) => Promise<number>): Promise<number> {
  let held = 0;
  for (let some = HELD_AT_ONCE; some === HELD_AT_ONCE; held += some) some = await hold(HELD_AT_ONCE);
  return held;
}

/** What `hold` rejects with if a host's process runs, or has claims for `forMs`. */
export function hostRuns(forMs?: number): OutboxError {
  const until = forMs === undefined ? "" : `, or wait ${Math.ceil(forMs / 1000)} s if none runs`;
  return new OutboxError(
    "ERR_AFFILIATE_OUTBOX_RUNNING",
    `outbox: a process of the host uses it, and nothing was held: stop all of them first${until}`,
  );
}

/** An event that was not delivered and will not be, unless an operator retries it. */
export interface DeadLetter extends Death {
  /** To retry or discard it by: 32 hex digits. */
  readonly id: string;
  /** The client id that it was reported for. */
  readonly destination: number;
  /** What happened. */
  readonly kind: EventKind;
  /** All that is known of it, e-mail address included: specified fields and the visitor's ids. */
  readonly event: OutboxEvent["data"];
  /** When it happened, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it was given up, in milliseconds since the epoch. */
  readonly diedAt: number;
  /** @internal Its row cannot be read: `event` is empty, and it can only be discarded. */
  readonly unreadable?: true;
}

/** How many there are of one kind and reason, and the sum of their payments. */
export interface DeadLetterSum extends Pick<DeadLetter, "kind" | "reason"> {
  readonly count: number;
  readonly amount: number;
}

/** As people see it: without its `Idempotency-Key`. */
export function shownLetter(letter: DeadLetter): DeadLetter {
  return { ...letter, event: shownData(letter.event) };
}

export function shownLetters(stored: DeadLetters, decided: (decision: Decision) => void): DeadLetters {
  return {
    ...stored,
    decided,
    async list(query) {
      const limit: unknown = query?.limit ?? Number.POSITIVE_INFINITY;
      if (limit !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(limit) && Number(limit) >= 0)) {
        throw new ArgumentError(
          `deadLetters.list: \`limit\` must be a whole number that is not negative, got ${shown(limit)}`,
        );
      }
      return (await stored.list(query)).map(shownLetter);
    },
  };
}

/** Which dead letters are meant. Default: all. @inline */
export interface DeadLetterFilter {
  /** Only those of this kind. */
  readonly kind?: EventKind | undefined;
  /** Only those that were given up for this reason. */
  readonly reason?: DeathReason | undefined;
}

/** Which dead letters to list. */
export interface DeadLetterQuery extends DeadLetterFilter {
  /** At most so many, oldest first. Default 100. */
  readonly limit?: number | undefined;
  /** Only this one. */
  readonly id?: string | undefined;
}

/** What an operator has done to dead letters, on the dashboard. */
export interface Decision {
  /** `retry`: queued again. `discard`: given up for good. */
  readonly action: "retry" | "discard";
  /** Who, if the dashboard's `authorize` said so. */
  readonly by?: string;
  /** How many events. */
  readonly count: number;
  /** Of one event: its id, as in its receipt. */
  readonly id?: string;
  /** The kind of all, if they are of one. */
  readonly kind?: EventKind;
  /** Why they were given up, if all were for one reason. */
  readonly reason?: DeathReason;
  /** What the payments among them come to. */
  readonly amount?: number;
}

/** The dead letters of one outbox. */
export interface DeadLetters {
  /** The dead letters, oldest first. */
  list(query?: DeadLetterQuery): Promise<readonly DeadLetter[]>;
  /** Queues it again, as the last of its visitor's. `false` if there is no such dead letter. */
  retry(id: string): Promise<boolean>;
  /**
   * Queues again what the filter means, in the order in which it happened. The service may have the
   * unconfirmed ones: they are queued only if `reason` names them. Resolves to the number.
   */
  retryAll(filter?: DeadLetterFilter): Promise<number>;
  /** Forgets it, but not its id: reported again, it is a duplicate. `false` if there is none. */
  discard(id: string): Promise<boolean>;
  /** @internal What the filter means, in numbers. */
  sums(filter?: DeadLetterFilter): Promise<readonly DeadLetterSum[]>;
  /** @internal The ids of what the filter means, oldest first. */
  ids(filter?: DeadLetterFilter): Promise<readonly string[]>;
  /** @internal Leaves a notice and a log line. */
  decided?(decision: Decision): void;
}
