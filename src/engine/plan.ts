import type { AmbiguousPolicy } from "../delivery/delivery.js";
import type { ConfirmReferral } from "../delivery/referral.js";
import type { EventKind } from "../events.js";
import type { NetworkDefaults } from "./network-defaults.js";

/** All settings of an engine, as plain data that can be sent to another thread. Contains the API key: never keep it, never show it. */
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
