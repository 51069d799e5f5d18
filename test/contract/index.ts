import { describe } from "vitest";
import { testBounds } from "./bounds.js";
import { testClicks } from "./clicks.js";
import { testCutOff } from "./cut-off.js";
import { testDeadLetterBytes } from "./dead-letter-bytes.js";
import { testDeadLetters, testEviction } from "./dead-letters.js";
import { testDestinations } from "./destinations.js";
import { testHandover } from "./handover.js";
import { testKeptForTheUrgent } from "./kept-for-the-urgent.js";
import { testLease } from "./lease.js";
import { testOrder } from "./order.js";
import { testPersonalData } from "./personal-data.js";
import { testLastingSchedule, testScheduled, testScheduledWhenFull } from "./scheduled.js";
import { type OutboxUnderTest, onStage } from "./stage.js";
import { testSurvival } from "./survival.js";
import { testUrgency } from "./urgency.js";
import { testUrgentVisitors } from "./urgent-visitors.js";

/** Tests every promise of the `Outbox` interface. `name`: of the group of tests. */
export function testOutbox(name: string, outbox: OutboxUnderTest): void {
  describe(name, () => {
    const { create, createSmall, maxDeadLetters, maxDeadLetterBytes, reopen } = outbox;
    const { cutOff, restore, leaseMs } = outbox;
    const itIs = onStage(create);
    const itIsSmall = onStage(createSmall);
    const lasting = reopen && { create, reopen };
    describe("sending", () => testHandover(itIs));
    describe("in order", () => testOrder(itIs));
    describe("the urgent first", () => testUrgency(itIs));
    describe("the clicks of a visitor", () => testClicks(itIs));
    describe("as urgent as what waits behind it", () => testUrgentVisitors(itIs));
    describe("dead letters", () => testDeadLetters(itIs));
    describe("scheduled", () => testScheduled(itIs));
    describe("a person's data", () => testPersonalData(itIs));
    describe("keeps what the urgent wait for", () => testKeptForTheUrgent(itIsSmall));
    describe("bounded", () => testBounds(itIsSmall));
    describe("bounded dead letters", () => testEviction(itIsSmall, maxDeadLetters));
    describe("large dead letters", () => testDeadLetterBytes(createSmall, maxDeadLetterBytes));
    describe("scheduled, when full", () => testScheduledWhenFull(itIsSmall));
    if (!lasting) return;
    describe("durable", () => testSurvival(lasting));
    describe("its own", () => testDestinations(lasting));
    describe("scheduled, with other processes", () => testLastingSchedule(lasting));
    if (!cutOff || !restore) return;
    describe("cut off", () => testCutOff(itIs, { cutOff, restore }));
    if (leaseMs) describe("leases", () => testLease({ ...lasting, leaseMs, cutOff, restore }));
  });
}
