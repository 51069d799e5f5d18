import type { AmbiguousPolicy } from "../delivery/delivery.js";
import type { ConfirmReferral } from "../delivery/referral.js";
import type { EventKind } from "../events.js";
import type { NetworkDefaults } from "./network-defaults.js";

/** All that an engine goes by, as plain data that can be sent to another thread. Holds the API key: keep it nowhere, show it nowhere. */
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
  /** Whether each attempt is told as it begins. Default: only from `tellAttempts` on. */
  readonly tellsAttempts?: boolean | undefined;
  /** How the host's thread connects where nothing else is said. */
  readonly network?: NetworkDefaults | undefined;
}
