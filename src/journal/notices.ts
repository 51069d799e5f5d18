import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import type { Death, DeathReason, Decision } from "../outbox/dead-letters.js";
import type { Endpoint, EndpointState, PauseReason, PauseScope } from "../service/endpoints.js";
import { maskEmail } from "../shared/emails.js";

/** Why something that the host reported is not sent. */
export type SkipReason =
  | "no-attribution"
  | "not-referred"
  | "consent"
  | "disabled"
  | "prefetch"
  | "bot"
  | "not-a-page"
  | "zero";

/** Why something that the host reported is lost. */
export type DropReason =
  | "invalid"
  | "full"
  | "visitor-full"
  | "dead-letters-full"
  | "outbox"
  | "closed"
  | "pick";

/** What every notice about an event has. It never has the API key, or an address in full. */
export interface EventNotice {
  /** The event's id, as in its receipt: 32 hex digits. */
  readonly id: string;
  /** What happened. */
  readonly kind: EventKind;
  /** The visitor's click id, if it is known. */
  readonly clickId?: string;
  /** The visitor's session id, if it is known. */
  readonly sessionId?: string;
  /** The customer's address, masked: `a***@shop.example`. */
  readonly email?: string;
}

/** What listeners get, by name. */
export interface Notices {
  /** The outbox has taken an event. */
  queued: EventNotice;
  /**
   * An attempt at an event begins. `delivered`, `retry`, `dead` or `skipped` (`not-referred`)
   * follows; nothing follows if the event is put back untried.
   */
  attempt: EventNotice & {
    /** How many attempts there were, this one included. */
    readonly attempts: number;
    /** When it begins, in milliseconds since the epoch. */
    readonly startedAt: number;
  };
  /** The service has taken an event, at the last of `attempts`. */
  delivered: EventNotice & {
    /** How many attempts there were, this one included. */
    readonly attempts: number;
    /** The service's number for a registration or payment (§4.2, §4.4), if its answer has one. */
    readonly leadId?: number;
  };
  /** An attempt failed; the next one comes in `inMs`. */
  retry: EventNotice & {
    /** How many attempts there were, this one included. */
    readonly attempts: number;
    /** When the next attempt comes at the earliest, in milliseconds from now. */
    readonly inMs: number;
    /** What the service or Node said. */
    readonly because: string;
  };
  /** An event was given up: it is a dead letter now. */
  dead: EventNotice & Death;
  /** Something that was reported is lost. */
  dropped: Partial<EventNotice> & {
    /** What was reported. */
    readonly kind: EventKind;
    /** Why it is lost. */
    readonly reason: DropReason;
    /** If it is no event: its `paymentId` or `customerId`. */
    readonly hostId?: string;
    /** Why, in words: such as which field is wrong, and what it must be. */
    readonly message: string;
  };
  /** Something that was reported is not sent, for a good reason. */
  skipped: Partial<EventNotice> & {
    /** What was reported. */
    readonly kind: EventKind;
    /** Why it is not sent. */
    readonly reason: SkipReason;
  };
  /** An operator has retried or discarded dead letters on the dashboard. */
  decided: Decision;
  /** Only probes are sent, the next in `forMs`; it has been so for `pausedMs`. */
  paused: {
    /** `origin`, or one endpoint. */
    readonly scope: PauseScope;
    /** What is wrong, in one word. */
    readonly reason: PauseReason;
    /** What the service or Node said. */
    readonly because: string;
    /** For how long it has been so, in milliseconds. */
    readonly pausedMs: number;
    /** How long until the next probe, in milliseconds. */
    readonly forMs: number;
  };
  /** Events are sent again, after `pausedMs` milliseconds. */
  resumed: {
    /** `origin`, or one endpoint. */
    readonly scope: PauseScope;
    /** How long the pause was, in milliseconds. */
    readonly pausedMs: number;
  };
}

/** Of this process since its start; `queued`, `waiting`, `dead`, `oldestMs` are the outbox's. */
export interface Stats {
  /** Wrapped handlers that answered below 400 and reported nothing, by kind. */
  readonly unreported: Readonly<Record<Exclude<EventKind, "click">, number>>;
  /** Events that wait or are under way, scheduled ones included. */
  readonly queued: number;
  /** Payments that wait for their `notBefore`; absent if the outbox takes none. */
  readonly scheduled?: {
    readonly count: number;
    /** In how many milliseconds the first of them is due; `null` if there is none. */
    readonly nextInMs: number | null;
  };
  /** The same for each kind; absent if the outbox does not know. */
  readonly waiting?: {
    readonly [Kind in EventKind]: {
      /** Events of this kind that wait or are under way. */
      readonly queued: number;
      /** How long ago the oldest of them happened, in milliseconds; `null` if there is none. */
      readonly oldestMs: number | null;
    };
  };
  /** Attempts under way. */
  readonly inFlight: number;
  /** Events that the service has taken. */
  readonly delivered: number;
  /** Attempts that failed and were followed by another. */
  readonly retried: number;
  /** Reports of what had been reported before. */
  readonly duplicates: number;
  /** What is not reported to the service, by reason. */
  readonly skipped: Readonly<Record<SkipReason, number>>;
  /** What is lost, by reason. */
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** Dead letters in the outbox, by reason. */
  readonly dead: Readonly<Record<DeathReason, number>>;
  /** How long ago the oldest queued event happened, or its `notBefore` came, in milliseconds. */
  readonly oldestMs: number | null;
  /** `paused`: the service or at least one of its endpoints is. */
  readonly state: "open" | "paused" | "closed";
  /** Each of the service's endpoints by its path below `/api/v1/tracking/`, such as `lead/payment`. */
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** What is wrong with the outbox's storage at this moment; absent if nothing is. */
  readonly trouble?: string;
}

/** What listeners get about an event. */
export function noticeOf(event: OutboxEvent): EventNotice {
  const { id, kind, data } = event;
  const email = emailOf(event);
  return {
    id,
    kind,
    ...(data.clickId !== undefined && { clickId: data.clickId }),
    ...(data.sessionId !== undefined && { sessionId: data.sessionId }),
    ...(email !== undefined && { email: maskEmail(email) }),
  };
}
