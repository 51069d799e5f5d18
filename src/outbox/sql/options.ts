import * as z from "zod/mini";
import { durableOptions, MIB, positiveInteger } from "../option-types.js";

/** The options that all outboxes in SQL databases have. */
export interface SqlOutboxOptions {
  /** Whether the tables are made, and brought up to date, when they are first used. Default `true`. */
  readonly migrate?: boolean | undefined;
  /**
   * After how long without a heartbeat another process takes over a process's claims, in milliseconds by the server's
   * clock; at least three times `delivery.timeoutMs`. Default 60,000.
   */
  readonly leaseMs?: number | undefined;
  /** For how long what was delivered is known, and a duplicate, in milliseconds; a click for a day at most. Default 30 days. */
  readonly rememberMs?: number | undefined;
  /** How many events of one destination wait at most. Default 1,000,000. */
  readonly maxEvents?: number | undefined;
  /** How many dead letters of one destination are kept; clicks go first, payments last. Default 10,000. */
  readonly maxDeadLetters?: number | undefined;
  /** How many bytes the dead letters of one destination take at most, their events included. Default 64 MiB. */
  readonly maxDeadLetterBytes?: number | undefined;
  /** How much waits in this process's memory at most while the server is away, in bytes by a rough count. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
}

export const flag = (usual: boolean) => z._default(z.boolean({ error: "must be true or false" }), usual);

export const sqlOptions = {
  ...durableOptions,
  leaseMs: z._default(durableOptions.leaseMs, 60_000),
  migrate: flag(true),
  pollMs: positiveInteger(1_000),
  maxEvents: positiveInteger(1_000_000),
  maxDeadLetterBytes: positiveInteger(64 * MIB),
};
