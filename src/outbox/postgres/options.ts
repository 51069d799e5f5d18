import { z } from "zod";
import type { SchemaOf } from "../../shared/read-options.js";
import { count, durableOptions } from "../option-types.js";
import type { PostgresPool } from "./database.js";
import { SCHEMA_NAME } from "./migrations.js";

/** What `postgresOutbox()` takes. */
export interface PostgresOutboxOptions {
  /** A pool of the package `pg`, or one like it. It is never closed here: end it after the tracker. */
  readonly pool: PostgresPool;
  /** The schema that the tables are in: a letter, then letters, digits and `_`, at most 40. Default `affiliate`. */
  readonly schema?: string | undefined;
  /** Whether the tables are made, and brought up to date, when they are first used. Default `true`. */
  readonly migrate?: boolean | undefined;
  /**
   * Whether one connection of the pool is kept to hear at once of what is committed (`LISTEN`). Where it is `false`, as
   * behind PgBouncer in transaction mode, it is found when it is next looked for. Default `true`, but for a pool that has
   * one connection only.
   */
  readonly listen?: boolean | undefined;
  /** How often the table is looked into for what no notification told of, in milliseconds. Default 1,000. */
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

const flag = z.boolean({ error: "must be true or false" });
const hasMethods = (value: unknown, names: readonly string[]) =>
  names.every((name) => typeof Object(value)[name] === "function");

export const postgresOptions = z.strictObject({
  ...durableOptions,
  leaseMs: durableOptions.leaseMs.default(60_000),
  pool: z.custom<PostgresPool>((value) => hasMethods(value, ["query", "connect", "on", "removeListener"]), {
    error: "must be a pool, such as new Pool() of pg",
  }),
  schema: z
    .string({ error: "must be a schema's name" })
    .regex(SCHEMA_NAME.pattern, { error: SCHEMA_NAME.error })
    .default("affiliate"),
  migrate: flag.default(true),
  listen: flag.default(true),
  pollMs: count.default(1_000),
  maxEvents: count.default(1_000_000),
} satisfies SchemaOf<PostgresOutboxOptions>);
