import { z } from "zod";
import type { OutboxEvent } from "../../events.js";
import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { createDurable } from "../durable.js";
import { count, durableOptions } from "../option-types.js";
import type { Outbox, OutboxCounts, Verdict } from "../outbox.js";
import { createAppend } from "./append.js";
import { createBound } from "./bound.js";
import { createClaims, type PostgresClaim } from "./claims.js";
import { createCounts } from "./counts.js";
import { ignore, openDatabase, type PostgresPool } from "./database.js";
import { createDeadLetters } from "./dead-letters.js";
import { listen } from "./listen.js";
import { quoted, SCHEMA_NAME } from "./migrations.js";
import { enqueue } from "./transaction.js";
import { again, forgetOld } from "./upkeep.js";
import { createVisitorClicks } from "./visitor-clicks.js";

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
  /** For how long what was delivered is known, and a duplicate, in milliseconds. Default 30 days. */
  readonly rememberMs?: number | undefined;
  /** How many events wait at most. Default 1,000,000. */
  readonly maxEvents?: number | undefined;
  /** How many dead letters are kept; the oldest goes first. Default 10,000. */
  readonly maxDeadLetters?: number | undefined;
  /** How much waits in this process's memory at most while the server is away, in bytes by a rough count. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
}

/** An outbox in a PostgreSQL database. */
export interface PostgresOutbox extends Outbox {
  /** Has the server count, without anything being started: what `counts()` says from there on. */
  look(): Promise<OutboxCounts>;
}

const flag = z.boolean({ error: "must be true or false" });
const hasMethods = (value: unknown, names: readonly string[]) =>
  names.every((name) => typeof Object(value)[name] === "function");

const options = z.strictObject({
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

const UPKEEP_MS = 60_000;
const COUNTED_AT_MOST_EVERY_MS = 1_000;
const COUNTED_AT_LEAST_EVERY_MS = 60_000;

/**
 * Keeps events in the host's own PostgreSQL database: they survive the loss of a machine, any number of machines share
 * them, and a report can be part of the host's own transaction (`trackPayment(…, { transaction: client })`): made if and
 * only if the order commits. What is `queued` is committed. While the server is away, what is reported waits in memory.
 *
 * @example
 * ```js
 * import { postgresOutbox } from "express-affiliate/postgres";
 * import pg from "pg";
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * const outbox = postgresOutbox({ pool }); // for `affiliate({ …, outbox })`
 * ```
 * @throws OptionsError
 */
export function postgresOutbox(options: PostgresOutboxOptions): PostgresOutbox;
/** @internal */
export function postgresOutbox(options: PostgresOutboxOptions, clock?: Clock): PostgresOutbox;
export function postgresOutbox(given: PostgresOutboxOptions, clock: Clock = systemClock): PostgresOutbox {
  const read = readOptions("postgresOutbox", options, given);
  const { pool, leaseMs, rememberMs, maxEvents, maxDeadLetters, maxMemoryBytes, pollMs } = read;
  const schema = quoted(read.schema);
  const channel = `express_affiliate_${read.schema}`;
  const listens = read.listen && pool.options?.max !== 1;
  let stops: (() => unknown)[] = [];

  const database = openDatabase(pool, { schema: read.schema, migrate: read.migrate });
  const numbers = createCounts(database, schema);
  const append = createAppend(database, schema, clock);
  const claims = createClaims(database, {
    schema,
    leaseMs,
    counts: numbers,
    onDeath: () => void evict(),
    clock,
  });
  const makeSpace = createBound(database, {
    schema,
    maxEvents,
    counts: numbers,
    onShed: (event) => tell((to) => to.dropped(event, "full")),
  });
  const shedClicks = createVisitorClicks(database, {
    schema,
    counts: numbers,
    onShed: (event) => tell((to) => to.dropped(event, "visitor-full")),
  });
  const { deadLetters, evict: evictOldest } = createDeadLetters(database, {
    schema,
    max: maxDeadLetters,
    counts: numbers,
    onRevived: () => wake(),
  });
  const { outbox, wake, tell } = createDurable<PostgresClaim>(
    {
      append: store,
      appendIn,
      claim: claims.claim,
      settle,
      counts: () => numbers.current,
      look: numbers.take,
      deadLetters,
      start,
      stop: append.close,
      close,
    },
    { name: "postgres", maxMemoryBytes, clock },
  );

  // Without a listener, an idle connection that is lost ends the host's process.
  pool.on("error", ignore);

  async function store(event: OutboxEvent): Promise<"queued" | "duplicate" | "full"> {
    const hasSpace = makeSpace(event.kind);
    if (hasSpace !== true && !(await hasSpace)) return "full";
    const outcome = await numbers.during(async () => {
      const stored = await append.append(event);
      if (stored !== "duplicate") numbers.add(event.kind, 1, event.createdAt);
      return stored;
    }, 1);
    if (outcome !== "crowded") return outcome;
    // Where it fails, the visitor's next click tries again.
    await shedClicks({ event, isCommitted: true }).catch(ignore);
    return "queued";
  }

  async function settle(claim: PostgresClaim, verdict: Verdict): Promise<void> {
    await claims.settle(claim, verdict);
    // Sooner than the next look would find it.
    if (verdict.type === "retry" && verdict.inMs < pollMs) clock.after(verdict.inMs, wake);
  }

  async function evict(): Promise<void> {
    for (const event of await evictOldest().catch(() => [])) {
      tell((to) => to.dropped(event, "dead-letters-full"));
    }
  }

  async function appendIn(
    transaction: unknown,
    event: OutboxEvent,
  ): Promise<"queued" | "duplicate" | "full"> {
    const hasSpace = makeSpace(event.kind);
    if (hasSpace !== true && !(await hasSpace)) return "full";
    const outcome = await enqueue(transaction, event, {
      schema: read.schema,
      quotedSchema: schema,
      channel: listens ? channel : null,
      prepare: database.ready,
    });
    if (outcome !== "crowded") return outcome;
    // Not in the transaction, whose locks would hold up the visitor's deliveries; and not awaited, for it may have the
    // pool's last connection.
    void shedClicks({ event, isCommitted: false }).catch(ignore);
    return "queued";
  }

  function start(): void {
    const countAgainIn = (took: number) =>
      Math.min(Math.max(COUNTED_AT_MOST_EVERY_MS, 100 * took), COUNTED_AT_LEAST_EVERY_MS);
    void numbers.take().catch(ignore);
    stops = [
      again(clock, () => pollMs, wake),
      again(clock, () => leaseMs / 3, claims.renew),
      again(clock, countAgainIn, numbers.take),
      again(
        clock,
        () => UPKEEP_MS,
        () => forgetOld(database, schema, rememberMs),
      ),
    ];
    if (listens) stops.push(listen(pool, { channel, onHint: wake, clock }));
  }

  async function close(): Promise<void> {
    await Promise.all(stops.map((stop) => stop()));
    stops = [];
    pool.removeListener("error", ignore);
  }

  return outbox as PostgresOutbox;
}
