import { type EventKind, notBeforeOf, type OutboxEvent } from "../../events.js";
import type { Clock } from "../../shared/clock.js";
import type { Circuits } from "../circuits.js";
import type { StoredDeadLetters } from "../dead-letters.js";
import { createDurable } from "../durable.js";
import type { CancelOutcome, Capacity, Claim, Outbox, OutboxCounts, Verdict } from "../outbox.js";
import type { PersonalStorage } from "../personal-data.js";
import type { Urgency } from "../urgency.js";
import { wakeForRetry } from "../verdicts.js";
import { again } from "./again.js";
import { type AppendOutcome, type AttemptOutcome, createAppend } from "./append.js";
import { createBound } from "./bound.js";
import { type CountRow, type Counts, createCounts } from "./counts.js";
import { createEviction, type Evicted, type OnDeath } from "./eviction.js";
import { createReleases } from "./releases.js";
import { UPKEEP_MS } from "./remembered.js";
import { createVisitorClicks } from "./visitor-clicks.js";

type Always = "cancel" | "personalData" | "erase";

/** An outbox in a database of the host's own. */
export interface SqlOutbox extends Omit<Outbox, Always>, Required<Pick<Outbox, Always>> {
  /** Makes the server count, also before the outbox is started. `counts()` says the same from then on. */
  look(): Promise<OutboxCounts>;
  /** @internal Makes an unconfirmed dead letter of each payment that waits. Resolves to their number. */
  hold(): Promise<number>;
  /** The settings by which the server may lose commits, in words. */
  cautions(): Promise<readonly string[]>;
}

/** A claim, which another process may have taken over. */
export interface SqlClaim extends Claim {
  isHeld(): boolean;
}

/** The statements of one kind of database. */
export interface SqlDialect<C extends SqlClaim> {
  /** Stores all of these in one transaction, or none of them, and says of each what became of it. */
  attempt(events: readonly OutboxEvent[]): Promise<readonly AttemptOutcome[]>;
  /** Which of these known events their own report has stored, and no earlier one. */
  storedBy(events: readonly OutboxEvent[]): Promise<ReadonlySet<OutboxEvent>>;
  /** Whether an error says that the connection was lost: how far the request got is unknown then. */
  isLost(error: unknown): boolean;
  /** Stores an event in the host's own transaction. */
  enqueue(transaction: unknown, event: OutboxEvent): Promise<AppendOutcome>;
  claim(capacity: Capacity): Promise<readonly C[]>;
  settle(claim: C, verdict: Verdict): Promise<unknown>;
  /** Renews the leases of events under way. */
  renew(): Promise<void>;
  /** Removes the oldest event of an urgency that no process has claimed, and that this one will not wait for; `undefined` where there is none. */
  shedFor(coming: OutboxEvent, urgency: Urgency): Promise<OutboxEvent | undefined>;
  /** Removes the oldest clicks of an event's visitor that no process has, until at most so many are left. */
  shedClicks(event: OutboxEvent, most: number): Promise<readonly OutboxEvent[]>;
  readonly deadLetters: StoredDeadLetters;
  /** Removes the oldest dead letters of a kind, at most so many; their ids stay known for as long as if they had been delivered. */
  evictOldest(destination: number, kind: EventKind, limit: number): Promise<readonly Evicted[]>;
  /** Requeues an `unconfirmed` event that was never sent. */
  reviveInterrupted(event: OutboxEvent): Promise<void>;
  readonly circuits: Circuits;
  /** Moves some scheduled payments that are due into the queue. Resolves to their number. */
  release(destination: number): Promise<number>;
  cancel(id: string, destination: number): Promise<CancelOutcome>;
  readonly personal: PersonalStorage;
  /** Makes an unconfirmed dead letter of each payment that waits, of all destinations. */
  hold(): Promise<number>;
  /** The settings by which the server may lose commits, in words. */
  cautions(): Promise<readonly string[]>;
  /** To be called once a minute. */
  upkeep(): Promise<void>;
  /** Begins to look for events of a destination. Returns a function that ends that. */
  watch(wake: () => void, destination: number): () => unknown;
  /** Every call has ended. */
  close?(): void;
}

/** What an outbox gives its dialect. */
export interface SqlShell {
  readonly counts: Counts;
  /** Called for a new dead letter, which is not counted yet. */
  readonly onDeath: OnDeath;
  /** There may be new events to claim. */
  wake(): void;
}

export interface SqlOptions {
  /** `postgres`: for log lines; its factory is taken to be `<name>Outbox`. */
  readonly name: string;
  /** In milliseconds; a retry that is due sooner gets a timer of its own. */
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly maxEvents: number;
  readonly maxDeadLetters: number;
  readonly maxDeadLetterBytes: number;
  readonly maxMemoryBytes: number;
  readonly clock: Clock;
  /** Makes the server count. */
  readonly count: () => Promise<readonly CountRow[]>;
}

const COUNTED_AT_MOST_EVERY_MS = 1_000;
const COUNTED_AT_LEAST_EVERY_MS = 60_000;

/** The part that outboxes in SQL databases share: bounds, counts, upkeep, and storing. */
export function createSqlOutbox<C extends SqlClaim>(
  options: SqlOptions,
  dialectOf: (shell: SqlShell) => SqlDialect<C>,
): SqlOutbox {
  const { name, pollMs, leaseMs, maxEvents, maxMemoryBytes, clock } = options;
  let stops: (() => unknown)[] = [];
  let areCautionsTold = false;

  const counts = createCounts(options.count);
  const dialect = dialectOf({
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
    onShed: (event) => tell((to) => to.dropped(event, "full")),
  });
  const evict = createEviction({
    max: options.maxDeadLetters,
    maxBytes: options.maxDeadLetterBytes,
    counts,
    remove: dialect.evictOldest,
    onEvicted: (event) => tell((to) => to.dropped(event, "dead-letters-full")),
  });
  const releases = createReleases({ clock, counts, release: dialect.release, wake: () => wake() });
  const shedClicks = createVisitorClicks({
    counts,
    shed: dialect.shedClicks,
    onShed: (event) => tell((to) => to.dropped(event, "visitor-full")),
  });
  const { outbox, wake, tell } = createDurable<C>(
    {
      append: store,
      appendIn,
      claim: dialect.claim,
      settle,
      counts: counts.current,
      look: counts.take,
      deadLetters: dialect.deadLetters,
      circuits: dialect.circuits,
      async cancel(id, destination) {
        return destination === undefined ? "unknown" : dialect.cancel(id, destination);
      },
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
    // Not in the transaction, whose locks would delay the visitor's deliveries. Not awaited, because the transaction may have
    // the pool's last connection.
    void shedClicks({ event, isCommitted: false }).catch(ignore);
    return "queued";
  }

  async function settle(claim: C, verdict: Verdict): Promise<unknown> {
    const isActedOn = await dialect.settle(claim, verdict);
    // Another process may have taken the event over, and made a dead letter of a payment that was never sent.
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
      again(clock, () => leaseMs / 3, dialect.renew),
      again(clock, countAgainIn, counts.take),
      releases.begin(destination),
      again(
        clock,
        () => UPKEEP_MS,
        async () => {
          await tellCautions();
          await dialect.upkeep();
        },
      ),
    ];
  }

  async function tellCautions(): Promise<void> {
    if (areCautionsTold) return;
    const cautions = await dialect.cautions();
    areCautionsTold = true;
    for (const caution of cautions) tell((to) => to.cautioned?.(caution));
  }

  async function close(): Promise<void> {
    append.close();
    await Promise.all(stops.map((stop) => stop()));
    stops = [];
    dialect.close?.();
  }

  async function hold(): Promise<number> {
    await releases.everywhere();
    return dialect.hold();
  }

  const { cautions } = dialect;
  return Object.assign(outbox as Omit<SqlOutbox, "hold" | "cautions">, { hold, cautions });
}

function ignore(): void {}
