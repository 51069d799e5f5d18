import assert from "node:assert/strict";
import { test } from "vitest";
import type { OutboxEvent } from "../../src/conversion/events.js";
import type { Death } from "../../src/outbox/dead-letters.js";
import {
  type Claim,
  type Deliver,
  type History,
  type Lane,
  type Outbox,
  type OutboxObserver,
  UNTRIED,
  type Verdict,
} from "../../src/outbox/outbox.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DESTINATION, sample } from "./samples.js";

export type Creates = () => Outbox | Promise<Outbox>;

/** The outbox to test, in several states. */
export interface OutboxUnderTest {
  /** Makes a new, empty outbox. Called once or more for each test, which closes it. */
  readonly create: Creates;
  /** The same, full after some 1,000 events. */
  readonly createSmall: Creates;
  /** For durable outboxes: opens one more on the last one's storage, as another process does. */
  readonly reopen?: Creates;
  /** How many dead letters those of `createSmall` keep: a few. */
  readonly maxDeadLetters: number;
  /** How many bytes these take at most, roughly: at least 50,000. */
  readonly maxDeadLetterBytes: number;
  /** Cuts the last created outbox off from its store: calls fail or hang. Needs `restore`. */
  readonly cutOff?: () => void | Promise<void>;
  /** Undoes `cutOff`; the store has kept its events. */
  readonly restore?: () => void | Promise<void>;
  /**
   * How long a claim lasts that its process does not renew, in milliseconds: less than 10,000. With
   * it, `cutOff` must not cut off the outboxes of `reopen`. Without it, no test of leases runs.
   */
  readonly leaseMs?: number;
}

/** One that other processes open too. */
export type Lasting = Required<Pick<OutboxUnderTest, "create" | "reopen">>;

// A storage that fails again and again is left alone for 1, 2, 4, then 8 s.
const PATIENCE_MS = 18_000;

/** An event that waits for its verdict. */
export interface Handed {
  readonly live: Claim;
  readonly id: string;
  settle(verdict: Verdict): void;
}

/** After a failed attempt, the event's first unless the history says otherwise. */
export function retryIn(inMs: number, history: Partial<History> = {}): Verdict {
  return {
    type: "retry",
    inMs,
    history: { ...UNTRIED, attempts: 1, failures: 1, triedAt: Date.now(), ...history },
  };
}

/** A `deliver` that does what a test says. */
class RecordingDelivery {
  /** How many more events may be sent. */
  capacity = Number.POSITIVE_INFINITY;
  /** Which may be sent, the most urgent first. */
  lanes: readonly Lane[] = ENDPOINTS.map((endpoint) => ({ endpoint, limit: Number.POSITIVE_INFINITY }));
  started = false;
  /** Whether the storage may fail. */
  expectsFailures = false;
  /** The id of every event that delivery got, in order. */
  readonly ids: string[] = [];
  /** The calls of `settled`. */
  readonly told: { readonly id: string; readonly attempts: number; readonly verdict: Verdict }[] = [];
  readonly dropped: { readonly event: OutboxEvent; readonly reason: string }[] = [];
  readonly #arrived: Handed[] = [];
  readonly #awaited: ((handed: Handed) => void)[] = [];
  #listener: ((handed: Handed) => void) | undefined;
  readonly #unsettled = new Set<Handed>();

  start(outbox: Outbox): void {
    this.started = true;
    const deliver: Deliver = {
      capacity: () => ({ limit: this.capacity, lanes: this.capacity > 0 ? this.lanes : [] }),
      deliver: (claim) => this.#take(claim),
      settled: ({ id }, attempts, verdict) => this.told.push({ id, attempts, verdict }),
    };
    const observer: OutboxObserver = {
      dropped: (event, reason) => this.dropped.push({ event, reason }),
      degraded() {},
      recovered() {},
    };
    outbox.start(deliver, observer);
  }

  /** The next event that comes. */
  async next(): Promise<Handed> {
    const arrived = this.#arrived.shift();
    return (
      arrived ?? inTime(new Promise((resolve) => this.#awaited.push(resolve)), "no event was handed over")
    );
  }

  /** Delivers the next event at once. Resolves to its id. */
  async deliverNext(): Promise<string> {
    const { id, settle } = await this.next();
    settle({ type: "delivered" });
    return id;
  }

  /** Calls the listener with each event from now on. */
  each(listener: (handed: Handed) => void): void {
    this.#listener = listener;
  }

  /** Releases its events, and takes no more. */
  close(): void {
    this.capacity = Number.NEGATIVE_INFINITY;
    for (const { settle } of this.#unsettled) settle({ type: "release" });
  }

  #take(live: Claim): Promise<Verdict> {
    this.ids.push(live.event.id);
    this.capacity--;
    return new Promise((resolve) => {
      const handed: Handed = {
        live,
        id: live.event.id,
        settle: (verdict) => {
          this.#unsettled.delete(handed);
          this.capacity++;
          resolve(verdict);
        },
      };
      this.#unsettled.add(handed);
      const awaited = this.#listener ?? this.#awaited.shift();
      if (awaited) awaited(handed);
      else this.#arrived.push(handed);
    });
  }
}

/** Polls, for changes that an outbox does not announce. */
export async function until(condition: () => boolean, otherwise: string | (() => string)): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) {
      throw new Error(`${typeof otherwise === "string" ? otherwise : otherwise()} for ${PATIENCE_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function inTime<T>(promise: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} for ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const REJECTED: Death = {
  reason: "rejected",
  status: 422,
  code: "Unprocessable Entity",
  message: "no such program",
  attempts: 1,
};

/** One test's outbox, and its delivery once it is started. Closes both at its end. */
export class Stage implements AsyncDisposable {
  readonly delivery = new RecordingDelivery();
  /** Read at the start: `durable` is false while events wait in memory. */
  readonly #survives: boolean;
  #closing: Promise<void> | undefined;

  private constructor(readonly outbox: Outbox) {
    this.#survives = outbox.durable === true;
  }

  /** Binds the outbox to a client id. */
  static async open(create: Creates, clientId = DESTINATION): Promise<Stage> {
    const outbox = await create();
    outbox.bind(clientId);
    return new Stage(outbox);
  }

  start(): void {
    this.delivery.start(this.outbox);
  }

  /** Starts, and takes no event until `release`. */
  hold(): void {
    this.delivery.capacity = 0;
    this.start();
  }

  /** Takes no event from here on, until `release`. */
  async pause(): Promise<void> {
    this.delivery.capacity = 0;
    // A claim that is on its way may find what is added next.
    await until(() => this.outbox.idle !== false, "the outbox did not come to rest");
  }

  release(): void {
    this.delivery.capacity = Number.POSITIVE_INFINITY;
    this.outbox.wake();
  }

  /** Resolves once the events are stored. */
  async add(...events: readonly OutboxEvent[]): Promise<void> {
    for (const event of events) {
      const outcome = await this.outbox.add(event);
      if (outcome === "queued") continue;
      // On a busy machine the storage may answer later than the receipt.
      if (outcome === "in-memory") {
        const isStored = () => this.outbox.durable || this.delivery.expectsFailures;
        if (this.#survives) await until(isStored, "events were not stored");
        continue;
      }
      throw new Error(`expected the event to be queued, and it was ${outcome}`);
    }
  }

  /** Adds events. Resolves to the next that delivery gets. */
  async handOver(...events: readonly OutboxEvent[]): Promise<Handed> {
    if (!this.delivery.started) this.start();
    await this.add(...events);
    return this.delivery.next();
  }

  /** Starts, or releases, and delivers each event at once. Adds its id to `delivered` before. */
  deliverAll(delivered: string[] = []): void {
    this.delivery.each(({ id, settle }) => {
      delivered.push(id);
      settle({ type: "delivered" });
    });
    if (this.delivery.started) this.release();
    else this.start();
  }

  /** The next events that delivery gets. */
  async take(number: number): Promise<Handed[]> {
    const handed: Handed[] = [];
    while (handed.length < number) handed.push(await this.delivery.next());
    return handed;
  }

  /** Delivers the next events: these, in this order. */
  async delivers(...events: readonly OutboxEvent[]): Promise<void> {
    for (const { id, kind } of events) {
      const { live, settle } = await this.delivery.next();
      const message = `expected the ${kind} ${id}, got the ${live.event.kind} ${live.event.id}`;
      assert.equal(live.event.id, id, message);
      settle({ type: "delivered" });
    }
  }

  /** Delivers a new visitor's event: so what was not sent before it is held back, and not just late. */
  async deliversStranger(): Promise<void> {
    const event = sample("click");
    await this.add(event);
    await this.delivers(event);
  }

  /** As `delivers`, with one event under way at a time. */
  async deliversOneByOne(...events: readonly OutboxEvent[]): Promise<void> {
    this.delivery.capacity = 1;
    if (this.delivery.started) this.outbox.wake();
    else this.start();
    await this.delivers(...events);
  }

  /** Adds events, and has each tried once. No other is taken then, until there is capacity. */
  async tries(verdict: Verdict, ...events: readonly OutboxEvent[]): Promise<void> {
    const { delivery } = this;
    // They take all slots, so no claim is under way when the capacity changes.
    delivery.capacity = events.length;
    this.start();
    await this.add(...events);
    for (const { settle } of await this.take(events.length)) {
      delivery.capacity = -1;
      settle(verdict);
    }
    await until(() => delivery.told.length === events.length, "the verdicts were not acted on");
  }

  /** Adds events, and gives up each before the next. */
  async giveUp(events: readonly OutboxEvent[], death: Death = REJECTED): Promise<void> {
    for (const event of events) {
      const before = this.outbox.counts().dead[death.reason];
      (await this.handOver(event)).settle({ type: "dead", ...death });
      await until(() => this.outbox.counts().dead[death.reason] > before, "a dead letter was not counted");
    }
  }

  /** Resolves once so many are queued. Counts may be moments old. */
  holds(queued: number): Promise<void> {
    const found = () => this.outbox.counts().queued;
    return until(
      () => found() === queued,
      () => `${found()} events were queued, and not ${queued},`,
    );
  }

  empty(): Promise<void> {
    return this.holds(0);
  }

  close(): Promise<void> {
    this.#closing ??= this.outbox.close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.delivery.close();
    await this.close();
  }
}

type TestsOn<Staged> = (title: string, body: (staged: Staged) => Promise<void>) => void;

export type StageTests = TestsOn<Stage>;

/** Tests that get an outbox of their own each. */
export function onStage(create: Creates): StageTests {
  return (title, body) =>
    test(title, async () => {
      await using stage = await Stage.open(create);
      await body(stage);
    });
}

/** Tests that get the outboxes of two processes on one storage. */
export function onTwoStages(
  create: Creates,
  reopen: Creates,
  clientId?: number,
): TestsOn<readonly [Stage, Stage]> {
  return (title, body) =>
    test(title, async () => {
      await using one = await Stage.open(create);
      await using other = await Stage.open(reopen, clientId);
      await body([one, other]);
    });
}
