import { testBounds } from "./bounds.js";
import { testCircuits } from "./circuits.js";
import { testCutOff } from "./cut-off.js";
import { testDeadLetterBytes } from "./dead-letter-bytes.js";
import { testDeadLetters, testEviction } from "./dead-letters.js";
import { testDestinations } from "./destinations.js";
import { testHandover } from "./handover.js";
import { testInheritedUrgency } from "./inherited-urgency.js";
import { testKeptForTheUrgent } from "./kept-for-the-urgent.js";
import { testOnce } from "./once.js";
import { testOrder } from "./order.js";
import { testPersonalData } from "./personal-data.js";
import { testLastingSchedule, testScheduled } from "./scheduled.js";
import { testSurvival } from "./survival.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";
import { testUrgency } from "./urgency.js";

export type { OutboxUnderTest, TestRunner };

/**
 * Tests every promise of the `Outbox` interface, with the given test runner.
 *
 * @example
 * ```ts
 * import { randomUUID } from "node:crypto";
 * import { describe, it } from "node:test";
 * import { testOutbox } from "express-affiliate/outbox";
 *
 * testOutbox("redisOutbox", { create: () => redisOutbox({ prefix: randomUUID() }) }, { describe, it });
 * ```
 * @param name the name of the group of tests.
 * @param runner default: the globals `describe` and `it`, which jest has, and vitest where it is told to.
 */
export function testOutbox(
  name: string,
  outbox: OutboxUnderTest,
  runner: TestRunner = globalThis as unknown as TestRunner,
): void {
  const { describe, it } = runner;
  describe(name, () => {
    const { createSmall, reopen, maxDeadLetters, maxDeadLetterBytes, cutOff, restore } = outbox;
    describe("once", () => testOnce(it, outbox));
    describe("handing over", () => testHandover(it, outbox));
    describe("in order", () => testOrder(it, outbox));
    describe("the urgent first", () => testUrgency(it, outbox));
    describe("as urgent as what waits behind it", () => testInheritedUrgency(it, outbox));
    if (createSmall) describe("keeps what the urgent wait for", () => testKeptForTheUrgent(it, createSmall));
    describe("dead letters", () => testDeadLetters(it, outbox));
    if (createSmall) describe("bounded", () => testBounds(it, createSmall));
    if (createSmall && maxDeadLetters) {
      describe("bounded dead letters", () => testEviction(it, createSmall, maxDeadLetters));
    }
    if (createSmall && maxDeadLetterBytes) {
      describe("large dead letters", () => testDeadLetterBytes(it, createSmall, maxDeadLetterBytes));
    }
    if (outbox.schedules) describe("scheduled", () => testScheduled(it, outbox));
    if (outbox.schedules && reopen) {
      describe("scheduled, with other processes", () => testLastingSchedule(it, { ...outbox, reopen }));
    }
    if (outbox.findsPersons) describe("a person's data", () => testPersonalData(it, outbox));
    if (cutOff && restore) describe("cut off", () => testCutOff(it, { ...outbox, cutOff, restore }));
    if (reopen) describe("durable", () => testSurvival(it, { ...outbox, reopen }));
    if (reopen) describe("its own", () => testDestinations(it, { ...outbox, reopen }));
    if (reopen && outbox.hasCircuits) describe("circuits", () => testCircuits(it, { ...outbox, reopen }));
  });
}
