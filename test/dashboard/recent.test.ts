import { EventEmitter } from "node:events";
import type { Affiliate } from "express-affiliate";
import { describe, expect, it } from "vitest";
import { recordRecent } from "../../src/dashboard/recent.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { MINUTE_MS } from "../helpers/times.js";

function startRecording() {
  const clock = new FakeClock();
  const tracker = new EventEmitter();
  return { clock, tracker, recent: recordRecent(tracker as unknown as Pick<Affiliate, "on">, clock) };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

describe("the last hour", () => {
  it("has a place for each minute, the current one last, and forgets what is older", async () => {
    const { clock, tracker, recent } = startRecording();
    tracker.emit("delivered", { kind: "payment" });
    await clock.pass(5 * MINUTE_MS);
    for (const kind of ["click", "click", "registration"]) tracker.emit("delivered", { kind });
    const { delivered } = recent.lastHour();
    expect(delivered).toHaveLength(60);
    expect([delivered[54], delivered[59]]).toEqual([1, 3]);

    await clock.pass(55 * MINUTE_MS);
    expect(sum(recent.lastHour().delivered)).toBe(3);
    await clock.pass(5 * MINUTE_MS);
    expect(recent.lastHour().delivered).toEqual(new Array(60).fill(0));
  });

  it("does not change if the machine's clock is set", async () => {
    const { clock, tracker, recent } = startRecording();
    const { now } = clock;
    for (const offset of [0, 120 * MINUTE_MS, -120 * MINUTE_MS]) {
      clock.now = () => now() + offset;
      await clock.pass(MINUTE_MS);
      tracker.emit("delivered", { kind: "click" });
    }
    expect(recent.lastHour().delivered.slice(-4)).toEqual([0, 1, 1, 1]);
  });
});

it("the dashboard counts apart what is given up and what is held, because it may have arrived", () => {
  const { tracker, recent } = startRecording();
  for (const reason of ["rejected", "unconfirmed", "unconfirmed", "expired"])
    tracker.emit("dead", { kind: "payment", reason });
  const { dead, held } = recent.lastHour();
  expect([sum(dead), sum(held)]).toEqual([2, 2]);
  expect(recent.failures().map(({ outcome }) => outcome)).toEqual(["dead", "held", "dead"]);
});

it("the last failures are counted if they are the same, the last one first, and are thirty at most", async () => {
  const { clock, tracker, recent } = startRecording();
  const retry = (because: string) => tracker.emit("retry", { kind: "payment", because });
  const lastAt = clock.now();
  for (const because of ["answered 500", "ECONNRESET"]) retry(because);
  await clock.pass(MINUTE_MS);
  retry("answered 500");
  const failure = { outcome: "retry", kind: "payment" };
  expect(recent.failures()).toEqual([
    { ...failure, because: "answered 500", count: 2, lastAt: clock.now() },
    { ...failure, because: "ECONNRESET", count: 1, lastAt },
  ]);
  for (let n = 0; n < 1_000; n++) retry(`answered ${n}`);
  expect(recent.failures()).toHaveLength(30);
  expect(recent.failures()[0]?.because).toBe("answered 999");
});
