import { type EventKind, type OutboxEvent, shownData } from "../events.js";
import { OutboxError } from "../shared/errors.js";

/**
 * Why an event was given up:
 *
 * - `rejected`: the service will not have it;
 * - `unconfirmed`: the service may have taken it, and it is not to be sent twice;
 * - `expired`: it has waited for too long.
 */
export type DeathReason = "rejected" | "unconfirmed" | "expired";

export const DEATH_REASONS: readonly DeathReason[] = ["rejected", "unconfirmed", "expired"];

/** Why and how an event was given up. */
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

/** The death of a payment that waited when the command `hold` ran. */
export const HELD: Omit<Death, "attempts"> = {
  reason: "unconfirmed",
  code: "ERR_HELD",
  message: "held after a restore: the service may have it",
};

/**
 * What `hold` rejects with where a host's process runs.
 *
 * @param forMs how long its claims last; `undefined` where it is known to run.
 */
export function hostRuns(forMs?: number): OutboxError {
  const until = forMs === undefined ? "" : `, or wait ${Math.ceil(forMs / 1000)} s where none runs`;
  return new OutboxError(
    "ERR_AFFILIATE_OUTBOX_RUNNING",
    `outbox: a process of the host uses it, and nothing was held: stop all of them first${until}`,
  );
}

/** An event that was not delivered and will not be, unless an operator retries it. */
export interface DeadLetter extends Death {
  /** To retry or discard it by: 32 hex digits. */
  readonly id: string;
  /** The program and the service's address that it was reported for: `42:https://tracking.example`. */
  readonly destination: number;
  /** What happened. */
  readonly kind: EventKind;
  /** All that is known of it, e-mail address included: the specification's fields and the visitor's ids. */
  readonly event: OutboxEvent["data"];
  /** When it happened, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it was given up, in milliseconds since the epoch. */
  readonly diedAt: number;
  /** @internal Its row cannot be read: `event` is empty, and it can be discarded alone. */
  readonly unreadable?: true;
}

/** How many dead letters there are of one kind and reason, and the sum of their payments. */
export interface DeadLetterSum extends Pick<DeadLetter, "kind" | "reason"> {
  readonly count: number;
  readonly amount: number;
}

/** The dead letter that an event becomes by this verdict. */
export function deadLetterOf(
  { id, destination, kind, data, createdAt }: OutboxEvent,
  { type: _, ...death }: Death & { readonly type: "dead" },
  diedAt: number,
): DeadLetter {
  return { id, destination, kind, event: data, ...death, createdAt, diedAt };
}

/** A dead letter as people see it: without its `Idempotency-Key`. */
export function shownLetter(letter: DeadLetter): DeadLetter {
  return { ...letter, event: shownData(letter.event) };
}

/** The same dead letters, as people see them. */
export function shownLetters(stored: DeadLetters): DeadLetters {
  return {
    list: async (query) => (await stored.list(query)).map(shownLetter),
    retry: (id) => stored.retry(id),
    retryAll: (filter) => stored.retryAll(filter),
    discard: (id) => stored.discard(id),
    ...(stored.sums && { sums: stored.sums.bind(stored) }),
    ...(stored.ids && { ids: stored.ids.bind(stored) }),
  };
}

/** A sum as a database's driver gives it: numbers may be texts. */
export function sumOf({ kind, reason, count, amount }: Record<keyof DeadLetterSum, string>): DeadLetterSum {
  return {
    kind: kind as EventKind,
    reason: reason as DeathReason,
    count: Number(count),
    amount: Number(amount),
  };
}

/** A dead letter's event, from the data of its row. */
export function eventOrUnreadable(data: unknown): Pick<DeadLetter, "event" | "unreadable"> {
  if (typeof data === "object" && data !== null) return { event: data as DeadLetter["event"] };
  return { event: {} as DeadLetter["event"], unreadable: true };
}

/** Which dead letters are meant. Default: all. */
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
}

/** The dead letters of one outbox. */
export interface DeadLetters {
  /** The dead letters, oldest first. */
  list(query?: DeadLetterQuery): Promise<readonly DeadLetter[]>;
  /** Queues it again, as the last of its visitor's. `false` where there is no such dead letter. */
  retry(id: string): Promise<boolean>;
  /**
   * Queues again, in the order in which they happened, those that are meant; the unconfirmed ones, which the service may have
   * taken, only where `reason` names them. Resolves to their number.
   */
  retryAll(filter?: DeadLetterFilter): Promise<number>;
  /** Forgets it, but not its id: reported again, it is still a duplicate. `false` where there is no such dead letter. */
  discard(id: string): Promise<boolean>;
  /** @internal Those that are meant, in numbers: no letter is read. Without it, `list` tells. */
  sums?(filter?: DeadLetterFilter): Promise<readonly DeadLetterSum[]>;
  /** @internal The ids of those that are meant, oldest first: no letter is read. Without it, `list` tells. */
  ids?(filter?: DeadLetterFilter): Promise<readonly string[]>;
}

/** The dead letters of a storage: those of one destination, or, where it is `undefined`, of all. */
export interface StoredDeadLetters {
  list(query: DeadLetterQuery, destination: number | undefined): ReturnType<DeadLetters["list"]>;
  retry(id: string, destination: number | undefined): Promise<boolean>;
  /** Those for which `isRetried` holds. */
  retryAll(filter: DeadLetterFilter, destination: number | undefined): Promise<number>;
  discard(id: string, destination: number | undefined): Promise<boolean>;
  sums?(filter: DeadLetterFilter, destination: number | undefined): Promise<readonly DeadLetterSum[]>;
  ids?(filter: DeadLetterFilter, destination: number | undefined): Promise<readonly string[]>;
}

/** Whether `retryAll` with this filter means a dead letter. */
export function isRetried(
  { kind, reason }: Pick<DeadLetter, "kind" | "reason">,
  filter: DeadLetterFilter = {},
): boolean {
  if (filter.reason === undefined && reason === "unconfirmed") return false;
  return isMeant({ kind, reason }, filter);
}

/** Whether a filter means a dead letter. */
export function isMeant(
  { kind, reason }: Pick<DeadLetter, "kind" | "reason">,
  filter: DeadLetterFilter = {},
): boolean {
  return (filter.kind ?? kind) === kind && (filter.reason ?? reason) === reason;
}
