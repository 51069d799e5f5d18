import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import type { Verdict } from "../claim.js";
import { hostRuns } from "../dead-letters.js";
import { createDurable } from "../durable.js";
import type { Outbox, OutboxCounts } from "../outbox.js";
import { wakeForRetry } from "../verdicts.js";
import { again } from "./again.js";
import { createAppend } from "./append.js";
import { createBound } from "./bound.js";
import { createCounts } from "./counts.js";
import type { SqlClaim, SqlDialect, SqlShell } from "./dialect.js";
import { createEviction } from "./eviction.js";
import type { ReadSqlOptions } from "./options.js";
import { createReleases } from "./releases.js";
import { UPKEEP_MS } from "./remembered.js";
import { createVisitorClicks } from "./visitor-clicks.js";

type Always = "cancel" | "personalData" | "erase";

/** An outbox in a database of the host's own. */
export interface SqlOutbox extends Omit<Outbox, Always>, Required<Pick<Outbox, Always>> {
  /** Makes the server count, even before the start, for `counts()` too. */
  look(): Promise<OutboxCounts>;
  /**
   * @internal Makes unconfirmed dead letters of all payments that wait. Resolves to their number.
   *
   * @throws OutboxError `ERR_AFFILIATE_OUTBOX_RUNNING` if a process has claims whose lease is not
   * over.
   */
  hold(): Promise<number>;
  /** By which settings the server may lose commits, in words. */
  cautions(): Promise<readonly string[]>;
}

const HELD_AT_ONCE = 500;
const COUNTED_AT_MOST_EVERY_MS = 1_000;
const COUNTED_AT_LEAST_EVERY_MS = 60_000;

/**
 * What outboxes in SQL databases share: bounds, counts, upkeep, storing.
 *
 * @param name `postgres`: its factory is taken to be `<name>Outbox`.
 */
export function createSqlOutbox<C extends SqlClaim>(
  name: string,
  { pollMs, leaseMs, maxEvents, maxMemoryBytes, maxDeadLetters, maxDeadLetterBytes }: ReadSqlOptions,
  clock: Clock,
  dialectOf: (shell: SqlShell) => SqlDialect<C>,
): SqlOutbox {
  let stops: (() => unknown)[] = [];
  let areCautionsTold = false;

  const counts = createCounts(() => dialect.count());
  const dialect: SqlDialect<C> = dialectOf({
    counts,
    onDeath: (event, death) => evict(event, death),
    wake: () => wake(),
  });
  const { attempt, storedBy, isLost } = dialect;
  const append = createAppend({ name, clock, attempt, storedBy, isLost });
  const makeSpace = createBound({
    maxEvents,
    counts,
    shed: dialect.shedFor,
    onShed: (event) => notify((to) => to.dropped(event, "full")),
  });
  const evict = createEviction({
    max: maxDeadLetters,
    maxBytes: maxDeadLetterBytes,
    counts,
    remove: dialect.evictOldest,
    onEvicted: (event) => notify((to) => to.dropped(event, "dead-letters-full")),
  });
  const releases = createReleases({ clock, counts, release: dialect.release, wake: () => wake() });
  const shedClicks = createVisitorClicks({
    counts,
    shed: dialect.shedClicks,
    onShed: (event) => notify((to) => to.dropped(event, "visitor-full")),
  });
  const { outbox, wake, notify } = createDurable<C>(
    {
      append: store,
      appendIn,
      claim: dialect.claim,
      settle,
      counts: counts.current,
      look: counts.take,
      deadLetters: dialect.deadLetters,
      circuits: dialect.circuits,
      cancel: dialect.cancel,
      personal: dialect.personal,
      start,
      stop: append.stop,
      close,
    },
    { name, maxMemoryBytes, clock },
  );

  async function store(event: OutboxEvent, waits?: () => void): Promise<"queued" | "duplicate" | "full"> {
    const hasSpace = makeSpace(event);
    if (hasSpace !== true && !(await hasSpace)) return "full";
    const { destination, kind, createdAt } = event;
    const arrived = counts.expect(destination);
    const outcome = await counts
      .during(async () => {
        const stored = await append.append(event, waits);
        if (stored === "duplicate") return stored;
        const notBefore = notBeforeOf(event);
        // By this clock: the next count corrects it by the server's.
        if (notBefore !== undefined && notBefore > clock.now())
          counts.add(destination, "scheduled", 1, notBefore);
        else counts.add(destination, kind, 1, createdAt);
        return stored;
      })
      .finally(arrived);
    if (outcome !== "crowded") return outcome;
    // After a failure, the visitor's next click tries again.
    await shedClicks({ event, isCommitted: true }).catch(ignore);
    return "queued";
  }

  async function appendIn(
    transaction: unknown,
    event: OutboxEvent,
  ): Promise<"queued" | "duplicate" | "full"> {
    const hasSpace = makeSpace(event);
    if (hasSpace !== true && !(await hasSpace)) return "full";
    const outcome = await dialect.enqueue(transaction, event);
    if (outcome !== "crowded") return outcome;
    // Not in the transaction, whose locks would delay deliveries. Not awaited: the transaction may
    // have the pool's last connection.
    void shedClicks({ event, isCommitted: false }).catch(ignore);
    return "queued";
  }

  async function settle(claim: C, verdict: Verdict): Promise<unknown> {
    const isActedOn = await dialect.settle(claim, verdict);
    // Another process may have made a dead letter of a payment that was never sent.
    const isUnsent = verdict.type === "release" && !claim.interrupted;
    if (isUnsent && !claim.isHeld()) await dialect.reviveInterrupted(claim.event);
    wakeForRetry(verdict, { pollMs, clock, wake });
    return isActedOn;
  }

  function start(destination: number): void {
    const countAgainIn = (took: number) =>
      Math.min(Math.max(COUNTED_AT_MOST_EVERY_MS, 100 * took), COUNTED_AT_LEAST_EVERY_MS);
    void counts.take().catch(ignore);
    void tellCautions().catch(ignore);
    stops = [
      dialect.watch(wake, destination),
      again(clock, leaseMs / 3, dialect.renew),
      again(clock, countAgainIn, counts.take),
      releases.begin(destination),
      again(clock, UPKEEP_MS, async () => {
        await tellCautions();
        await dialect.upkeep();
      }),
    ];
  }

  async function tellCautions(): Promise<void> {
    if (areCautionsTold) return;
    const cautions = await dialect.cautions();
    areCautionsTold = true;
    for (const caution of cautions) notify((to) => to.cautioned?.(caution));
  }

  async function close(): Promise<void> {
    append.close();
    await Promise.all(stops.map((stop) => stop()));
    stops = [];
    dialect.close?.();
  }

  async function hold(): Promise<number> {
    const { leasedForMs, hold: holdSome } = dialect.holding;
    await releases.everywhere();
    const leased = await leasedForMs();
    if (leased !== null) throw hostRuns(Number(leased));
    let held = 0;
    let some: number;
    do {
      some = await holdSome(HELD_AT_ONCE);
      held += some;
    } while (some === HELD_AT_ONCE);
    return held;
  }

  const { cautions } = dialect;
  return Object.assign(outbox as Omit<SqlOutbox, "hold" | "cautions">, { hold, cautions });
}

function ignore(): void {}
