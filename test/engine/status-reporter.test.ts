import { expect, it } from "vitest";
import { createStatusReporter } from "../../src/engine/status-reporter.js";
import { FakeClock } from "../helpers/fake-clock.js";

const APART_MS = 10;

/** When it reports, in milliseconds from the start. */
function underTest() {
  const clock = new FakeClock();
  const start = clock.now();
  const reports: number[] = [];
  const state = { isUrgent: false };
  const send = () => reports.push(clock.now() - start);
  const reporter = createStatusReporter({ send, isUrgent: () => state.isUrgent, apartMs: APART_MS, clock });
  async function soonAfter(ms: number): Promise<void> {
    await clock.pass(ms);
    reporter.soon();
    await clock.settled();
  }
  return { reporter, reports, state, clock, soonAfter };
}

it("reports once, at the end of the tick, what was long not reported", async () => {
  const { reporter, reports, clock } = underTest();
  reporter.soon();
  reporter.soon();
  expect(reports).toEqual([]);
  await clock.pass(3 * APART_MS);
  expect(reports).toEqual([0]);
});

it("reports together what is not urgent", async () => {
  const { reports, clock, soonAfter } = underTest();
  for (const ms of [0, 3, 3, 3]) await soonAfter(ms);
  expect(reports).toEqual([0]);
  await clock.pass(3 * APART_MS);
  expect(reports).toEqual([0, APART_MS]);
});

it("reports at once what is urgent by the end of the tick, and with it what was put off", async () => {
  const { reporter, reports, state, clock, soonAfter } = underTest();
  for (const ms of [0, 3]) await soonAfter(ms);
  reporter.soon();
  state.isUrgent = true;
  await clock.pass(3 * APART_MS);
  expect(reports).toEqual([0, 3]);
});

it("has nothing left to report once all was reported", async () => {
  const { reporter, reports, clock, soonAfter } = underTest();
  for (const ms of [0, 3]) await soonAfter(ms);
  reporter.now();
  await clock.pass(3 * APART_MS);
  expect(reports).toEqual([0, 3]);
});
