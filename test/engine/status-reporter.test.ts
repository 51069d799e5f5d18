import { expect, it } from "vitest";
import { createStatusReporter } from "../../src/engine/status-reporter.js";
import { FakeClock } from "../helpers/fake-clock.js";

const APART_MS = 10;

/** What is told, in milliseconds from the start. */
function underTest() {
  const clock = new FakeClock();
  const start = clock.now();
  const told: number[] = [];
  const state = { isUrgent: false };
  const tell = () => told.push(clock.now() - start);
  const telling = createStatusReporter({ tell, isUrgent: () => state.isUrgent, apartMs: APART_MS, clock });
  async function soonAfter(ms: number): Promise<void> {
    await clock.pass(ms);
    telling.soon();
    await clock.settled();
  }
  return { telling, told, state, clock, soonAfter };
}

it("tells once, at the end of the turn, what was long not told", async () => {
  const { telling, told, clock } = underTest();
  telling.soon();
  telling.soon();
  expect(told).toEqual([]);
  await clock.pass(3 * APART_MS);
  expect(told).toEqual([0]);
});

it("tells together what is not urgent", async () => {
  const { told, clock, soonAfter } = underTest();
  for (const ms of [0, 3, 3, 3]) await soonAfter(ms);
  expect(told).toEqual([0]);
  await clock.pass(3 * APART_MS);
  expect(told).toEqual([0, APART_MS]);
});

it("tells at once what is urgent by the end of the turn, and with it what was put off", async () => {
  const { telling, told, state, clock, soonAfter } = underTest();
  for (const ms of [0, 3]) await soonAfter(ms);
  telling.soon();
  state.isUrgent = true;
  await clock.pass(3 * APART_MS);
  expect(told).toEqual([0, 3]);
});

it("has nothing left to tell once all was told", async () => {
  const { telling, told, clock, soonAfter } = underTest();
  for (const ms of [0, 3]) await soonAfter(ms);
  telling.now();
  await clock.pass(3 * APART_MS);
  expect(told).toEqual([0, 3]);
});
