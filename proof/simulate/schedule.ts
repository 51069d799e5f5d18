import type { EventKind } from "express-affiliate";
import type { DiskFault } from "./disk.js";
import type { Fault } from "./faults.js";
import type { ServerFault } from "./host.js";

/** What happened at a host, once. Its number tells it from all others. */
export interface Happening {
  readonly number: number;
  readonly kind: EventKind;
  readonly visitor: number;
  readonly clickId?: string | undefined;
  readonly sessionId?: string | undefined;
  /** Of a payment: how long it waits for its `notBefore`. */
  readonly waitsMs?: number | undefined;
}

/** One thing that a schedule does, so many milliseconds after its beginning. */
export type Step = { readonly at: number } & (
  | {
      readonly do: "report";
      readonly process: number;
      readonly what: Happening;
      /** Whether the process is killed as soon as the call has returned. */
      readonly isKilled?: true;
    }
  | {
      readonly do: "flood";
      readonly process: number;
      readonly from: number;
      readonly events: number;
      /** Of strangers, at all processes, one every so often. Absent: clicks, all at once. */
      readonly strangers?: { readonly kind: EventKind; readonly everyMs: number };
    }
  | { readonly do: "fail"; readonly name: string; readonly fault: Fault }
  | { readonly do: "heal"; readonly name: string }
  | { readonly do: "crash" | "start" | "lose thread"; readonly process: number }
  | { readonly do: "stall" | "close" | "flush"; readonly process: number; readonly ms: number }
  | { readonly do: "disk"; readonly process: number; readonly fault: DiskFault | undefined }
  | { readonly do: "server"; readonly process: number; readonly fault: ServerFault | undefined }
  | {
      readonly do: "transaction";
      readonly process: number;
      readonly whats: readonly Happening[];
      readonly ms: number;
      readonly commits: boolean;
    }
  | { readonly do: "set clock"; readonly ms: number }
  /** A refund: of the payments that were reported with a `notBefore`, one is cancelled. */
  | { readonly do: "cancel"; readonly process: number; readonly nth: number }
  | { readonly do: "retry" | "discard"; readonly process: number; readonly nth: number }
  | { readonly do: "retry all"; readonly process: number; readonly unconfirmedToo: boolean }
);

export type Profile = "chaos" | "outage" | "poison" | "calm" | "crowd";
export type OutboxName = Schedule["outbox"];

/** A whole simulation: all that is left to chance in it follows from its seed. */
export interface Schedule {
  readonly seed: number;
  readonly profile: Profile;
  readonly outbox: "memory" | "disk" | "mysql" | "postgres";
  readonly processes: number;
  /** Programs that share a directory: process n belongs to program n modulo their number. */
  readonly programs: number;
  readonly repeated: "conflict" | "yes" | "again";
  readonly maxAgeMs: number;
  /** Absent, as the bounds: the outbox's own default. */
  readonly leaseMs?: number;
  readonly bounds?: {
    readonly maxEvents: number;
    readonly maxBytes: number;
    readonly maxDeadLetters: number;
  };
  readonly steps: readonly Step[];
}
