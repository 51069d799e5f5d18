import type { PauseReason } from "./delivery/endpoint-health.js";
import type { EventKind } from "./events.js";
import type { Death, DeathReason } from "./outbox/outbox.js";
import type { Endpoint } from "./service/endpoints.js";

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

/** What is paused: the whole service, or one of its endpoints. */
export type PauseScope = "origin" | Endpoint;

/** How an endpoint is. While it is paused, trials are sent and nothing else. */
export type EndpointState =
  | { readonly state: "open" }
  | {
      readonly state: "paused";
      readonly reason: PauseReason;
      /** For how long it has been so, in milliseconds. */
      readonly pausedMs: number;
    };

/** What every notice about an event says: never the API key, and no address in full. */
export interface EventNotice {
  readonly id: string;
  readonly kind: EventKind;
  readonly clickId?: string;
  readonly sessionId?: string;
  /** The customer's address, masked: `a***@shop.example`. */
  readonly email?: string;
}

/** What listeners are told, by name. */
export interface Notices {
  queued: EventNotice;
  delivered: EventNotice & { readonly attempts: number };
  /** An attempt failed; the next one comes in `inMs`. */
  retry: EventNotice & { readonly attempts: number; readonly inMs: number; readonly because: string };
  dead: EventNotice & Death;
  dropped: Partial<EventNotice> & {
    readonly kind: EventKind;
    readonly reason: DropReason;
    readonly message?: string;
  };
  skipped: { readonly kind: EventKind; readonly reason: SkipReason };
  /** Nothing but trials is sent, the next in `forMs`; it has been so for `pausedMs`. */
  paused: {
    readonly scope: PauseScope;
    readonly reason: PauseReason;
    readonly because: string;
    readonly pausedMs: number;
    readonly forMs: number;
  };
  resumed: { readonly scope: PauseScope; readonly pausedMs: number };
}

/** How many events of one kind wait or are under way, and how long ago the oldest of them happened, in milliseconds. */
export interface WaitingOfKind {
  readonly queued: number;
  readonly oldestMs: number | null;
}

/** Numbers of this process since its start, but for `queued`, `waiting`, `dead` and `oldestMs`, which are the outbox's. */
export interface Stats {
  /** Events that wait or are under way. */
  readonly queued: number;
  /** The same for each kind; absent where the outbox does not know. */
  readonly waiting?: Readonly<Record<EventKind, WaitingOfKind>>;
  /** Attempts under way. */
  readonly inFlight: number;
  readonly delivered: number;
  /** Attempts that failed and were followed by another. */
  readonly retried: number;
  /** Reports of what had been reported before. */
  readonly duplicates: number;
  readonly skipped: Readonly<Record<SkipReason, number>>;
  readonly dropped: Readonly<Record<DropReason, number>>;
  readonly dead: Readonly<Record<DeathReason, number>>;
  /** How long ago the oldest queued event happened, in milliseconds. */
  readonly oldestMs: number | null;
  /** `paused`: the service or at least one of its endpoints is. */
  readonly state: "open" | "paused" | "closed";
  /** Each of the service's endpoints by itself. */
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** What is wrong with the outbox's storage at this moment; absent where nothing is. */
  readonly trouble?: string;
}
