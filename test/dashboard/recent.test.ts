import { EventEmitter } from "node:events";
import type { Affiliate } from "express-affiliate";
import { describe, expect, it } from "vitest";
import { recordRecent } from "../../src/dashboard/recent.js";
import { FakeClock } from "../helpers/fake-clock.js";

const MINUTE_MS = 60_000;

function startRecording() {
  const clock = new FakeClock();
  const tracker = new EventEmitter();
  const recent = recordRecent(tracker as unknown as Pick<Affiliate, "on">, clock);
  return { clock, tracker, recent };
}

describe("the last hour", () => {
  it("has a place for each minute, the current one last, and forgets what is older", async () => {
    const { clock, tracker, recent } = startRecording();
    tracker.emit("delivered", { kind: "payment" });
    await clock.pass(5 * MINUTE_MS);
    for (const kind of ["click", "click", "registration"]) tracker.emit("delivered", { kind });
    const { minutes, ...kinds } = recent.lastHour().delivered;
    expect(kinds).toEqual({ click: 2, registration: 1, payment: 1 });
    expect(minutes).toHaveLength(60);
    expect([minutes[54], minutes[59]]).toEqual([1, 3]);

    await clock.pass(55 * MINUTE_MS);
    expect(recent.lastHour().delivered).toMatchObject({ click: 2, registration: 1, payment: 0 });
    await clock.pass(5 * MINUTE_MS);
    expect(recent.lastHour().delivered).toMatchObject({ click: 0, registration: 0, payment: 0 });
    expect(recent.lastHour().delivered.minutes).toEqual(new Array(60).fill(0));
  });

  it("counts on after a day in which nothing happened", async () => {
    const { clock, tracker, recent } = startRecording();
    tracker.emit("queued", { kind: "click" });
    await clock.pass(24 * 60 * MINUTE_MS);
    tracker.emit("queued", { kind: "click" });
    expect(recent.lastHour().queued).toMatchObject({ click: 1 });
  });

  it("does not change if the machine's clock is set", async () => {
    const { clock, tracker, recent } = startRecording();
    const { now } = clock;
    for (const offset of [0, 120 * MINUTE_MS, -120 * MINUTE_MS]) {
      clock.now = () => now() + offset;
      await clock.pass(MINUTE_MS);
      tracker.emit("delivered", { kind: "click" });
    }
    const { click, minutes } = recent.lastHour().delivered;
    expect([click, minutes.slice(-4)]).toEqual([3, [0, 1, 1, 1]]);
  });
});

it("the dashboard counts apart what is given up and what is held, because it may have arrived", () => {
  const { tracker, recent } = startRecording();
  for (const reason of ["rejected", "unconfirmed", "unconfirmed", "expired"])
    tracker.emit("dead", { kind: "payment", reason });
  const { dead, held } = recent.lastHour();
  expect([dead.payment, held.payment]).toEqual([2, 2]);
  expect(recent.failures().map(({ outcome }) => outcome)).toEqual(["dead", "held", "dead"]);
});

describe("the last failures", () => {
  const retry = (because: string) => ({ kind: "payment", email: "a***@shop.example", because });

  it("are counted if they are the same, and the last one comes first", async () => {
    const { clock, tracker, recent } = startRecording();
    const firstAt = clock.now();
    tracker.emit("retry", retry("answered 500"));
    tracker.emit("retry", retry("ECONNRESET"));
    await clock.pass(MINUTE_MS);
    tracker.emit("retry", retry("answered 500"));
    const failure = { outcome: "retry", kind: "payment", email: "a***@shop.example" };
    expect(recent.failures()).toEqual([
      { ...failure, because: "answered 500", count: 2, firstAt, lastAt: clock.now() },
      { ...failure, because: "ECONNRESET", count: 1, firstAt, lastAt: firstAt },
    ]);
  });

  it("are thirty at most, however many there are", () => {
    const { tracker, recent } = startRecording();
    for (let n = 0; n < 1_000; n++) tracker.emit("retry", retry(`answered ${n}`));
    expect(recent.failures()).toHaveLength(30);
    expect(recent.failures()[0]?.because).toBe("answered 999");
  });
});
