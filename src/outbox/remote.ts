import type { EventKind } from "../events.js";
import type { EndpointState } from "../service/endpoint-state.js";
import type { Endpoint } from "../service/endpoints.js";

/**
 * How to deliver in the thread of an outbox, and not in the host's.
 *
 * @internal
 */
export interface RemoteDelivery {
  /** Called each time a thread begins. The plan is for `postMessage` alone, and shown nowhere. */
  plan(): DeliveryPlan;
  /**
   * To be called once the outbox delivers by the plan. `tellAttempts`: each attempt is told as it begins. `stop`: nothing more is
   * begun. `abort`: what is under way ends at once.
   */
  started(engine: { tellAttempts(): void; stop(): void; abort(): void }): void;
  /** What delivery says of itself there, in the order in which it says it. */
  hear(report: DeliveryReport): void;
  /** The thread has ended. What it was delivering is in doubt; another thread begins anew. */
  lost(): void;
}

/** All settings of delivery, as plain data that can be sent to another thread. Contains the API key: never keep it, never show it. */
export interface DeliveryPlan {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey?: string | undefined;
  /** A proxy's address, which may hold a password, or `environment`. */
  readonly proxy?: string | undefined;
  readonly concurrency: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  readonly confirmReferral: ConfirmReferral;
  /** Whether each attempt is reported as it begins. Default: only from `tellAttempts` on. */
  readonly tellsAttempts?: boolean | undefined;
  /** The host thread's network settings. */
  readonly network?: NetworkDefaults | undefined;
}

/** What to do with an event that the service may have taken: send it again, or hold it as a dead letter. */
export type AmbiguousPolicy = "retry" | "hold";

/** Whose referral the status endpoint confirms before an event is sent. */
export type ConfirmReferral = "login-session" | "always" | "never";

/** What Node keeps for each thread: set by flags such as `--tls-min-v1.3`, or by the host's code. */
export interface NetworkDefaults {
  readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  readonly maxVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  readonly ciphers: string;
  readonly resultOrder: "ipv4first" | "ipv6first" | "verbatim";
  readonly autoSelectFamily: boolean;
  readonly autoSelectFamilyTimeoutMs: number;
  /** The authorities that are trusted, where a flag has added the system's. */
  readonly authorities?: readonly string[] | undefined;
}

/** The report of delivery in another thread. */
export interface DeliveryReport {
  /** The calls of its journal since the last report. */
  readonly entries: readonly JournalCall[];
  /** Attempts under way. */
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
}

/** The methods of a journal that delivery calls. */
export const JOURNAL_CALLS = [
  "attempt",
  "delivered",
  "skipped",
  "retry",
  "dead",
  "paused",
  "resumed",
  "refused",
  "unconfirmed",
  "log",
] as const;

/** One call of a journal method: its name and its arguments. */
export type JournalCall = readonly [name: (typeof JOURNAL_CALLS)[number], args: readonly unknown[]];
