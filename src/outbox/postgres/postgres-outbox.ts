import type { OutboxEvent } from "../../events.js";
import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { createDurable } from "../durable.js";
import type { Outbox, OutboxCounts, Verdict } from "../outbox.js";
import { again } from "../sql/again.js";
import { createAppend } from "../sql/append.js";
import { createBound } from "../sql/bound.js";
import { createCounts } from "../sql/counts.js";
import { createDestinations } from "../sql/destinations.js";
import { createVisitorClicks } from "../sql/visitor-clicks.js";
import { createAttempt } from "./append.js";
import { createClaims, type PostgresClaim } from "./claims.js";
import { count } from "./count.js";
import { ignore, openDatabase } from "./database.js";
import { createDeadLetters } from "./dead-letters.js";
import { createHandOver } from "./hand-over.js";
import { listen } from "./listen.js";
import { quoted } from "./migrations.js";
import { type PostgresOutboxOptions, postgresOptions } from "./options.js";
import { createShedding } from "./shedding.js";
import { enqueue } from "./transaction.js";
import { forgetOld } from "./upkeep.js";

/** An outbox in a PostgreSQL database. */
export interface PostgresOutbox extends Outbox {
  /** Has the server count, without anything being started: what `counts()` says from there on. */
  look(): Promise<OutboxCounts>;
  handOver(from: string, to: string): Promise<number>;
}

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
  const read = readOptions("postgresOutbox", postgresOptions, given);
  const { pool, leaseMs, rememberMs, maxEvents, maxDeadLetters, maxMemoryBytes, pollMs } = read;
  const schema = quoted(read.schema);
  const channel = `express_affiliate_${read.schema}`;
  const listens = read.listen && pool.options?.max !== 1;
  let stops: (() => unknown)[] = [];

  const database = openDatabase(pool, { schema: read.schema, migrate: read.migrate });
  const destinations = createDestinations((number, name) =>
    database.query(
      `insert into ${schema}.destinations (number, name) values ($1, $2) on conflict do nothing`,
      [number, name],
    ),
  );
  const numbers = createCounts(() => count(database, schema), destinations);
  const shedding = createShedding(database, schema, destinations);
  const append = createAppend({
    name: "postgres",
    destinations,
    clock,
    attempt: createAttempt(database, schema, destinations),
  });
  const claims = createClaims(database, {
    schema,
    destinations,
    leaseMs,
    counts: numbers,
    onDeath: (destination) => void evict(destination),
    clock,
  });
  const makeSpace = createBound({
    maxEvents,
    counts: numbers,
    shed: shedding.oldest,
    onShed: (event) => tell((to) => to.dropped(event, "full")),
  });
  const shedClicks = createVisitorClicks({
    counts: numbers,
    shed: shedding.clicks,
    onShed: (event) => tell((to) => to.dropped(event, "visitor-full")),
  });
  const {
    deadLetters,
    reviveInterrupted,
    evict: evictSome,
  } = createDeadLetters(database, {
    schema,
    destinations,
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
      counts: numbers.current,
      look: numbers.take,
      deadLetters,
      handOver: createHandOver(database, { schema, destinations, counts: numbers }),
      start,
      stop: append.stop,
      close,
    },
    { name: "postgres", maxMemoryBytes, clock },
  );

  // Without a listener, an idle connection that is lost ends the host's process.
  pool.on("error", ignore);

  async function store(event: OutboxEvent): Promise<"queued" | "duplicate" | "full"> {
    const hasSpace = makeSpace(event);
    if (hasSpace !== true && !(await hasSpace)) return "full";
    const { destination, kind, createdAt } = event;
    const arrived = numbers.expect(destination);
    const outcome = await numbers
      .during(async () => {
        const stored = await append.append(event);
        if (stored !== "duplicate") numbers.add(destination, kind, 1, createdAt);
        return stored;
      })
      .finally(arrived);
    if (outcome !== "crowded") return outcome;
    // Where it fails, the visitor's next click tries again.
    await shedClicks({ event, isCommitted: true }).catch(ignore);
    return "queued";
  }

  async function settle(claim: PostgresClaim, verdict: Verdict): Promise<void> {
    await claims.settle(claim, verdict);
    // Another process may have taken it over, and held what was never sent: by this process, nor by one before it.
    const isUnsent = verdict.type === "release" && !claim.interrupted;
    if (isUnsent && !claim.isHeld()) await reviveInterrupted(claim.event);
    // Sooner than the next look would find it.
    if (verdict.type === "retry" && verdict.inMs < pollMs) clock.after(verdict.inMs, wake);
  }

  async function evict(destination: string): Promise<void> {
    for (const event of await evictSome(destination).catch(() => [])) {
      tell((to) => to.dropped(event, "dead-letters-full"));
    }
  }

  async function appendIn(
    transaction: unknown,
    event: OutboxEvent,
  ): Promise<"queued" | "duplicate" | "full"> {
    const hasSpace = makeSpace(event);
    if (hasSpace !== true && !(await hasSpace)) return "full";
    const { destination } = event;
    // Not in the transaction, which others would wait for; and not awaited, for it may have the pool's last connection.
    if (!destinations.isStored(destination)) void destinations.store(destination).catch(ignore);
    const outcome = await enqueue(transaction, event, {
      schema: read.schema,
      quotedSchema: schema,
      destination: destinations.numberOf(destination),
      channel: listens ? channel : null,
      prepare: database.ready,
    });
    if (outcome !== "crowded") return outcome;
    // Neither in the transaction, whose locks would hold up the visitor's deliveries, nor awaited.
    void shedClicks({ event, isCommitted: false }).catch(ignore);
    return "queued";
  }

  function start(destination: string): void {
    const countAgainIn = (took: number) =>
      Math.min(Math.max(COUNTED_AT_MOST_EVERY_MS, 100 * took), COUNTED_AT_LEAST_EVERY_MS);
    void numbers.take().catch(ignore);
    void destinations.store(destination).catch(ignore);
    stops = [
      again(clock, () => pollMs, wake),
      again(clock, () => leaseMs / 3, claims.renew),
      again(clock, countAgainIn, numbers.take),
      again(
        clock,
        () => UPKEEP_MS,
        async () => {
          await destinations.store(destination);
          await forgetOld(database, schema, rememberMs);
        },
      ),
    ];
    if (listens) stops.push(listen(pool, { channel, onHint: wake, onDeaf: warnOfPooler, clock }));
  }

  async function close(): Promise<void> {
    append.close();
    await Promise.all(stops.map((stop) => stop()));
    stops = [];
    pool.removeListener("error", ignore);
  }

  return outbox as PostgresOutbox;
}

// A matter of the host's configuration, and no trouble of the storage: nothing waits for it.
function warnOfPooler(): void {
  process.emitWarning(
    "postgresOutbox: notifications do not arrive, as behind PgBouncer in transaction mode; it looks for events every `pollMs` instead. Set `listen: false`, or give it a pool that connects to PostgreSQL itself",
    { code: "ERR_AFFILIATE_POSTGRES_LISTEN" },
  );
}
