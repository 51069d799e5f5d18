import type { EventKind } from "../conversion/events.js";
import type { EndpointState } from "../service/endpoint-state.js";
import type { Endpoint } from "../service/endpoints.js";

/** @internal How to deliver in an outbox's thread, not the host's. */
export interface RemoteDelivery {
  /** Called each time a thread begins. For `postMessage` alone: never show it. */
  plan(): DeliveryPlan;
  /**
   * Call it once the outbox delivers. `reportAttempts`: report attempts as they begin. `stop`:
   * begin nothing more. `abort`: end what is under way.
   */
  started(engine: { reportAttempts(): void; stop(): void; abort(): void }): void;
  /** Delivery's reports from there, in order. */
  receive(report: DeliveryReport): void;
  /** The thread has ended. What it was delivering is in doubt. Another begins anew. */
  lost(): void;
}

/** Delivery's settings as plain data, with the API key: never keep it, never show it. */
export interface DeliveryPlan {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey?: string | undefined;
  /** An address, which may hold a password, or `environment`. */
  readonly proxy?: string | undefined;
  readonly concurrency: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  readonly confirmReferral: ConfirmReferral;
  /** Reports attempts as they begin. Default: only from `reportAttempts` on. */
  readonly reportsAttempts?: boolean | undefined;
  /** The host thread's. */
  readonly network?: NetworkDefaults | undefined;
}

/** For an event that the service may have taken: send it again, or hold it as a dead letter. */
export type AmbiguousPolicy = "retry" | "hold";

/** Before which events the status endpoint is asked for a referral. */
export type ConfirmReferral = "login-session" | "always" | "never";

/** What Node keeps for each thread, set by flags such as `--tls-min-v1.3` or the host's code. */
export interface NetworkDefaults {
  readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  readonly maxVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  readonly ciphers: string;
  readonly resultOrder: "ipv4first" | "ipv6first" | "verbatim";
  readonly autoSelectFamily: boolean;
  readonly autoSelectFamilyTimeoutMs: number;
  /** Trusted authorities, if a flag has added the system's. */
  readonly authorities?: readonly string[] | undefined;
}

/** Of delivery in another thread. */
export interface DeliveryReport {
  /** Its journal's calls since the last report. */
  readonly entries: readonly JournalCall[];
  /** How many attempts are under way. */
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
}

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

export type JournalCall = readonly [name: (typeof JOURNAL_CALLS)[number], args: readonly unknown[]];
