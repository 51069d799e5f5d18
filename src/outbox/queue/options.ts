import * as z from "zod/mini";
import { durableOptions, MIB, positiveInteger } from "../option-types.js";

/** What all outboxes in SQL databases take. */
export interface SqlOutboxOptions {
  /** Makes tables, and brings them up to date, when they are first used. Default `true`. */
  readonly migrate?: boolean | undefined;
  /**
   * After how long without a heartbeat another process takes over a process's claims, in
   * milliseconds by the server's clock; at least three times `delivery.timeoutMs`, at most
   * an hour. Default 60,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How often idle tables are polled, in milliseconds; sooner while there is work, and after a
   * report in a transaction. Default 1,000.
   */
  readonly pollMs?: number | undefined;
  /**
   * For how long a delivered event's id is kept, to find duplicates, in milliseconds; of a click
   * for a day at most. Default 30 days.
   */
  readonly rememberMs?: number | undefined;
  /** Most events of one destination that wait. Default 1,000,000. */
  readonly maxEvents?: number | undefined;
  /** Most dead letters of one destination. Clicks go first, payments last. Default 10,000. */
  readonly maxDeadLetters?: number | undefined;
  /** Most bytes of one destination's dead letters, with their events. Default 64 MiB. */
  readonly maxDeadLetterBytes?: number | undefined;
  /** Most bytes in memory while the server is away, roughly. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
}

export const sqlOptions = {
  ...durableOptions,
  leaseMs: z._default(durableOptions.leaseMs, 60_000),
  migrate: z._default(z.boolean({ error: "must be true or false" }), true),
  pollMs: positiveInteger(1_000),
  maxEvents: positiveInteger(1_000_000),
  maxDeadLetterBytes: positiveInteger(64 * MIB),
};

/** As `readOptions` gives them, whatever the database. */
export type ReadSqlOptions = Readonly<z.output<z.ZodMiniObject<typeof sqlOptions>>>;
