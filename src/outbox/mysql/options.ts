import { z } from "zod";
import type { SchemaOf } from "../../shared/read-options.js";
import { count, durableOptions } from "../option-types.js";
import type { MysqlPool } from "./database.js";
import { PREFIX } from "./migrations.js";

/** What `mysqlOutbox()` takes. */
export interface MysqlOutboxOptions {
  /** A pool of `mysql2/promise`, or one like it. It is never closed here: end it after the tracker. */
  readonly pool: MysqlPool;
  /** What the tables' names begin with: a letter, then letters, digits and `_`, at most 40. Default `affiliate_`. */
  readonly prefix?: string | undefined;
  /** Whether the tables are made, and brought up to date, when they are first used. Default `true`. */
  readonly migrate?: boolean | undefined;
  /**
   * How often the table is looked into while nothing happens, in milliseconds. After a report in a transaction, and while there
   * is work, it is looked into sooner. Default 1,000.
   */
  readonly pollMs?: number | undefined;
  /**
   * After how long without a sign of life a process is taken for dead, and its events over, in milliseconds by the
   * server's clock; at least three times `delivery.timeoutMs`. Default 60,000.
   */
  readonly leaseMs?: number | undefined;
  /** For how long what was delivered is known, and a duplicate, in milliseconds; a click for a day at most. Default 30 days. */
  readonly rememberMs?: number | undefined;
  /** How many events of one destination wait at most. Default 1,000,000. */
  readonly maxEvents?: number | undefined;
  /** How many dead letters of one destination are kept; clicks go first, payments last. Default 10,000. */
  readonly maxDeadLetters?: number | undefined;
  /** How much waits in this process's memory at most while the server is away, in bytes by a rough count. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
}

// The callback pool of `mysql2` has `getConnection` too, and `promise()` beside it.
const isPool = (value: unknown) =>
  typeof Object(value).getConnection === "function" && typeof Object(value).promise !== "function";

export const mysqlOptions = z.strictObject({
  ...durableOptions,
  leaseMs: durableOptions.leaseMs.default(60_000),
  pool: z.custom<MysqlPool>(isPool, { error: "must be a pool, such as createPool() of mysql2/promise" }),
  prefix: z
    .string({ error: "must be a text" })
    .regex(PREFIX.pattern, { error: PREFIX.error })
    .default("affiliate_"),
  migrate: z.boolean({ error: "must be true or false" }).default(true),
  pollMs: count.default(1_000),
  maxEvents: count.default(1_000_000),
} satisfies SchemaOf<MysqlOutboxOptions>);
