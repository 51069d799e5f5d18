import type { OutboxEvent } from "../../conversion/events.js";
import { again, type Repeated } from "../../shared/again.js";
import { inBatches } from "../../shared/batch.js";
import type { Clock } from "../../shared/clock.js";
import { setImmediate } from "../../shared/real-timers.js";
import { holdAll, hostRuns } from "../dead-letters.js";
import { createDurable } from "../durable.js";
import { noTransaction, type Outbox, type Stored } from "../outbox.js";
import { createAppend } from "./append.js";
import { createBound } from "./bound.js";
import { repeatWhereLost } from "./connections.js";
import { countsOf, createCounts } from "./counts.js";
import { type Database, Scope } from "./database.js";
import { type LastEvent, lastEventsIn } from "./last-events.js";
import type { QueueClaim, Settlement } from "./leases.js";
import type { ReadSqlOptions } from "./options.js";
import { createQueue } from "./queue.js";
import { checkWrites } from "./tables.js";

/** An outbox in a database of the host's own. */
export interface SqlOutbox extends Outbox {
  /**
   * @internal Makes unconfirmed dead letters of all payments that wait. Resolves to their number.
   *
   * @throws OutboxError `ERR_AFFILIATE_OUTBOX_RUNNING` if a process has claims whose lease is not
   * over.
   */
  hold(): Promise<number>;
  /** By which settings the server may lose commits, in words. */
  cautions(): Promise<readonly string[]>;
  /** @internal What became of the last events, newest report first. */
  last(limit: number): Promise<readonly LastEvent[]>;
  /** @internal Rejects if the server takes no writes from this user. Changes nothing. */
  checkWrites(): Promise<void>;
}

const SETTLED_AT_ONCE = 200;
const COUNTED_AT_MOST_EVERY_MS = 1_000;
const COUNTED_AT_LEAST_EVERY_MS = 60_000;
const UPKEEP_MS = 60_000;
const SOON_MS = 20;
const SPACE_WITHIN_MS = 1_000;
// How long a payment that is due waits at most for its place in the queue.
const DUE_EVERY_MS = 1_000;
const IS_BEHIND = new Error("an earlier event of the same visitor is being given its place");

/**
 * An outbox over a database server.
 *
 * @param name `postgres`: its factory is taken to be `<name>Outbox`.
 * @param onClosed called once nothing uses the database any more.
 */
export function createQueueOutbox(
  name: string,
  options: ReadSqlOptions,
  clock: Clock,
  database: Database,
  onClosed: () => unknown = () => {},
): SqlOutbox {
  const { pollMs, leaseMs, rememberMs, maxEvents, maxMemoryBytes, maxDeadLetters, maxDeadLetterBytes } =
    options;
  let repeated: Repeated[] = [];
  let areCautionsTold = false;
  let nextPollMs = pollMs;
  let poll: Repeated | undefined;
  let settling: Promise<unknown> = Promise.resolve();

  const scope = new Scope();
  const counts = createCounts(() => queue.count(), scope);
  const queue = createQueue(database, {
    ...{ leaseMs, rememberMs, maxDeadLetters, maxDeadLetterBytes, counts, scope, clock },
    wake: () => wake(),
    onDropped(event, reason) {
      const tell = () => notify((to) => to.dropped(event, reason));
      // It may have died in the same batch: `dead` is emitted before `dropped`.
      if (reason === "dead-letters-full") void settling.then(() => setImmediate(tell));
      else tell();
    },
  });
  const isBusy = (error: unknown) => error === IS_BEHIND || database.isBusy(error);
  const append = createAppend({ clock, attempt, isBusy });
  const makeSpace = createBound({
    ...{ maxEvents, counts, knownOf: queue.knownOf },
    shed: queue.shedFor,
    onShed: (event) => notify((to) => to.dropped(event, "full")),
  });
  const settleTogether = inBatches<Settlement, boolean>((settled) => {
    const effects = repeatWhereLost(() => queue.settle(settled), database.isLost);
    settling = effects.catch(ignore);
    return effects;
  }, SETTLED_AT_ONCE);
  const { outbox, wake, notify } = createDurable<QueueClaim>(
    {
      append: append.append,
      ...(database.insertWithin && { appendIn }),
      claim: (capacity) => repeatWhereLost(() => claim(capacity), database.isLost),
      settle: (claim, verdict) => settleTogether([claim, verdict]),
      bind(clientId) {
        scope.clientId = clientId;
      },
      counts: () => countsOf(counts.rows, scope),
      look: counts.take,
      deadLetters: queue.deadLetters,
      unanswered: queue.unanswered,
      cancel: queue.cancel,
      personal: queue.personal,
      start,
      stop: append.stop,
      close,
    },
    { name, maxMemoryBytes, pollMs, clock },
  );

  async function claim(capacity: Parameters<typeof queue.claim>[0]): Promise<readonly QueueClaim[]> {
    const claims = await queue.claim(capacity);
    if (claims.length > 0) pollSoon();
    return claims;
  }

  async function attempt(events: readonly OutboxEvent[], report: string): Promise<readonly Stored[]> {
    const { fitting, known } = await makeSpace(events);
    const coming = events.filter((event) => fitting.has(event)).map((event) => ({ event, report }));
    if (coming.length > 0 && (await queue.placeNew(events))) throw IS_BEHIND;
    const outcomes = coming.length > 0 ? [...(await queue.append(coming))] : [];
    return events.map((event) => {
      if (known.has(event)) return "duplicate";
      return fitting.has(event) ? (outcomes.shift() as Stored) : "full";
    });
  }

  /** `undefined`: unknown, as if transactions that report have all connections of the pool. */
  async function spaceFor(event: OutboxEvent) {
    let cancel = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = clock.after(SPACE_WITHIN_MS, () => resolve(undefined));
    });
    return Promise.race([makeSpace([event]), late]).finally(cancel);
  }

  async function appendIn(transaction: unknown, event: OutboxEvent): Promise<Stored> {
    if (!database.insertWithin) throw noTransaction(`${name}Outbox`);
    const space = await spaceFor(event);
    if (space?.known.has(event)) return "duplicate";
    if (space && !space.fitting.has(event)) return "full";
    const isStored = await database.insertWithin(transaction, queue.newRow(event));
    // Nothing tells of the commit: a look finds the event.
    pollSoon();
    return isStored ? "queued" : "duplicate";
  }

  function start(): void {
    const countAgainIn = (took: number) =>
      Math.min(Math.max(COUNTED_AT_MOST_EVERY_MS, 100 * took), COUNTED_AT_LEAST_EVERY_MS);
    void counts.take().catch(ignore);
    void tellCautions().catch(ignore);
    poll = again(clock, pollInMs, wake);
    repeated = [
      poll,
      again(clock, () => leaseMs / 3, queue.renew),
      again(clock, countAgainIn, counts.take),
      again(clock, () => DUE_EVERY_MS, queue.queueAllDue),
      again(clock, () => UPKEEP_MS, tellCautions),
      again(clock, () => UPKEEP_MS, queue.upkeep),
    ];
  }

  /** Often while there is something to find, then less and less. */
  function pollInMs(): number {
    const inMs = nextPollMs;
    nextPollMs = Math.min(2 * inMs, pollMs);
    return inMs;
  }

  function pollSoon(): void {
    // One comes soon: if each report in a transaction put it off, it might never come.
    if (nextPollMs <= 2 * SOON_MS) return;
    nextPollMs = Math.min(SOON_MS, pollMs);
    poll?.hasten(pollInMs());
  }

  async function tellCautions(): Promise<void> {
    if (areCautionsTold) return;
    const cautions = await database.cautions();
    areCautionsTold = true;
    for (const caution of cautions) notify((to) => to.cautioned?.(caution));
  }

  async function close(): Promise<void> {
    for (const { stop } of repeated) stop();
    onClosed();
  }

  async function hold(): Promise<number> {
    // What hosts' transactions have committed may be scheduled: that shows once it has its place.
    await queue.placeNew();
    await counts.take();
    await queue.queueAllDue();
    const leased = await queue.leasedForMs();
    if (leased !== null) throw hostRuns(leased);
    return holdAll(queue.hold);
  }

  return Object.assign(outbox, {
    hold,
    cautions: database.cautions,
    last: (limit: number) => lastEventsIn(database, limit),
    checkWrites: () => checkWrites(database),
  });
}

function ignore(): void {}
