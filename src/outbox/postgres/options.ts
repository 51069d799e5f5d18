import * as z from "zod/mini";
import type { SchemaOf } from "../../shared/read-options.js";
import { flag, type SqlOutboxOptions, sqlOptions } from "../queue/options.js";
import { SCHEMA_NAME } from "./migrations.js";
import type { PostgresPool } from "./pool.js";

/** What `postgresOutbox()` takes. */
export interface PostgresOutboxOptions extends SqlOutboxOptions {
  /** A pool of the package `pg`, or one like it. Never closed here: end it after the tracker. */
  readonly pool: PostgresPool;
  /** The tables' schema: a letter, then up to 39 letters, digits and `_`. Default `affiliate`. */
  readonly schema?: string | undefined;
  /**
   * Whether one connection of the pool is kept to be notified at once of commits (`LISTEN`). If it
   * is `false`, as it must be behind PgBouncer in transaction mode, polling finds the events.
   * Default `true`; `false` for a pool of one connection.
   */
  readonly listen?: boolean | undefined;
  /** How often to poll for events without a notification, in milliseconds. Default 1,000. */
  readonly pollMs?: number | undefined;
}

const hasMethods = (value: unknown, names: readonly string[]) =>
  names.every((name) => typeof Object(value)[name] === "function");

export const postgresOptions = z.strictObject({
  ...sqlOptions,
  pool: z.custom<PostgresPool>((value) => hasMethods(value, ["query", "connect", "on", "removeListener"]), {
    error: "must be a pool, such as new Pool() of pg",
  }),
  schema: z._default(
    z
      .string({ error: "must be a schema's name" })
      .check(z.regex(SCHEMA_NAME.pattern, { error: SCHEMA_NAME.error })),
    "affiliate",
  ),
  listen: flag(true),
} satisfies SchemaOf<PostgresOutboxOptions>);
