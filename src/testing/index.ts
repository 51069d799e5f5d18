import type { Outbox } from "../outbox/outbox.js";
import { testBounds } from "./bounds.js";
import { testDeadLetters } from "./dead-letters.js";
import { testHandover } from "./handover.js";
import { testOnce } from "./once.js";
import { testOrder } from "./order.js";
import { testSurvival } from "./survival.js";
import { testUrgency } from "./urgency.js";

type Creates = () => Outbox | Promise<Outbox>;

/** The outbox that is put to the test, and in what states it can be had. */
export interface OutboxUnderTest {
  /** A new outbox with nothing in it. Called once or more for each test, which closes what it gets. */
  readonly create: Creates;
  /** The same with room for no more than 1,000 events or so. Without it, nothing is said about bounds. */
  readonly createSmall?: Creates;
  /**
   * One more outbox over the storage of the last that was created, as the next process would open it, or another beside
   * it. For outboxes that are durable.
   */
  readonly reopen?: Creates;
}

/** What vitest, jest and `node:test` have in common. */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): unknown;
  /** A test: it fails where `body` rejects. */
  it(name: string, body: () => Promise<void>): unknown;
}

/**
 * Puts an outbox to the test: every promise of the `Outbox` interface, as tests of the runner at hand.
 *
 * @example
 * import { describe, it } from "node:test";
 * import { testOutbox } from "express-affiliate/outbox";
 *
 * testOutbox("redisOutbox", { create: () => redisOutbox({ prefix: randomUUID() }) }, { describe, it });
 *
 * @param name what the tests are filed under.
 * @param runner default: the globals `describe` and `it`, which jest has, and vitest where it is told to.
 */
export function testOutbox(
  name: string,
  outbox: OutboxUnderTest,
  runner: TestRunner = globalThis as unknown as TestRunner,
): void {
  const { describe, it } = runner;
  describe(name, () => {
    describe("once", () => testOnce(it, outbox));
    describe("handing over", () => testHandover(it, outbox));
    describe("in order", () => testOrder(it, outbox));
    describe("the urgent first", () => testUrgency(it, outbox));
    describe("dead letters", () => testDeadLetters(it, outbox));
    const { createSmall, reopen } = outbox;
    if (createSmall) describe("bounded", () => testBounds(it, createSmall));
    if (reopen) describe("durable", () => testSurvival(it, { ...outbox, reopen }));
  });
}
