import * as z from "zod/mini";
import type { SchemaOf } from "../../shared/read-options.js";
import { type SqlOutboxOptions, sqlOptions } from "../queue/options.js";
import { PREFIX } from "./migrations.js";
import type { MysqlPool } from "./pool.js";

/** What `mysqlOutbox()` takes. */
export interface MysqlOutboxOptions extends SqlOutboxOptions {
  /** A pool of `mysql2/promise`, or one like it. End it after the tracker. */
  readonly pool: MysqlPool;
  /** Of tables' names: a letter, then letters, digits, `_`; at most 40. Default `affiliate_`. */
  readonly prefix?: string | undefined;
  /**
   * How often an idle table is polled, in milliseconds; sooner while there is work, and after a
   * report in a transaction. Default 1,000.
   */
  readonly pollMs?: number | undefined;
}

// The callback pool of `mysql2` has `getConnection` too, and `promise()`.
const isPool = (value: unknown) =>
  typeof Object(value).getConnection === "function" && typeof Object(value).promise !== "function";

export const mysqlOptions = z.strictObject({
  ...sqlOptions,
  pool: z.custom<MysqlPool>(isPool, { error: "must be a pool, such as createPool() of mysql2/promise" }),
  prefix: z._default(
    z.string({ error: "must be a text" }).check(z.regex(PREFIX.pattern, { error: PREFIX.error })),
    "affiliate_",
  ),
} satisfies SchemaOf<MysqlOutboxOptions>);
