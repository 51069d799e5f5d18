import { describe, test } from "vitest";
import { testBounds } from "./bounds.js";
import { testClicks } from "./clicks.js";
import { testCutOff } from "./cut-off.js";
import { testDeadLetterBytes } from "./dead-letter-bytes.js";
import { testDeadLetters, testEviction } from "./dead-letters.js";
import { testDestinations } from "./destinations.js";
import { testHandover } from "./handover.js";
import { testInheritedUrgency, testLastingUrgency } from "./inherited-urgency.js";
import { testKeptForTheUrgent } from "./kept-for-the-urgent.js";
import { testLease } from "./lease.js";
import { testOnce } from "./once.js";
import { testOrder } from "./order.js";
import { testErasedSchedule, testPersonalData } from "./personal-data.js";
import { runTest } from "./recorder.js";
import { testLastingSchedule, testScheduled, testScheduledWhenFull } from "./scheduled.js";
import { onStage } from "./stage.js";
import { testSurvival } from "./survival.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";
import { testUrgency } from "./urgency.js";

/** The same as Vitest's, but a test that fails says what the store has failed with. */
const it: TestRunner["it"] = (title, body) => test(title, () => runTest(body));

/** Tests every promise of the `Outbox` interface. `name`: of the group of tests. */
export function testOutbox(name: string, outbox: OutboxUnderTest): void {
  describe(name, () => {
    const { create, createSmall, reopen, maxDeadLetters, maxDeadLetterBytes } = outbox;
    const { cutOff, restore, leaseMs } = outbox;
    const itIs = onStage(it, create);
    describe("once", () => testOnce(itIs));
    describe("sending", () => testHandover(itIs));
    describe("in order", () => testOrder(itIs));
    describe("the urgent first", () => testUrgency(itIs));
    describe("the clicks of a visitor", () => testClicks(itIs));
    describe("as urgent as what waits behind it", () => testInheritedUrgency(itIs));
    describe("dead letters", () => testDeadLetters(itIs));
    describe("scheduled", () => testScheduled(itIs));
    describe("a person's data", () => {
      testPersonalData(itIs);
      testErasedSchedule(itIs);
    });
    if (cutOff && restore) describe("cut off", () => testCutOff(itIs, { cutOff, restore }));
    if (createSmall) {
      const itIsSmall = onStage(it, createSmall);
      describe("keeps what the urgent wait for", () => {
        testKeptForTheUrgent(itIsSmall);
        testLastingUrgency(itIsSmall);
      });
      describe("bounded", () => testBounds(itIsSmall));
      if (maxDeadLetters) describe("bounded dead letters", () => testEviction(itIsSmall, maxDeadLetters));
      if (maxDeadLetterBytes) {
        describe("large dead letters", () => testDeadLetterBytes(it, createSmall, maxDeadLetterBytes));
      }
      describe("scheduled, when full", () => testScheduledWhenFull(itIsSmall));
    }
    if (reopen) {
      const lasting = { create, reopen };
      describe("durable", () => testSurvival(it, lasting));
      describe("its own", () => testDestinations(it, lasting));
      if (cutOff && restore && leaseMs) {
        describe("leases", () => testLease(it, { ...lasting, leaseMs, cutOff, restore }));
      }
      describe("scheduled, with other processes", () => testLastingSchedule(it, lasting));
    }
  });
}
