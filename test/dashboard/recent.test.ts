import { EventEmitter } from "node:events";
import type { Affiliate } from "express-affiliate";
import { describe, expect, it } from "vitest";
import { recordRecent } from "../../src/dashboard/recent.js";
import { FakeClock } from "../helpers/fake-clock.js";

const MINUTE_MS = 60_000;

function startRecording() {
  const clock = new FakeClock();
  const stats = { queued: 0, state: "open" };
  const tracker = Object.assign(new EventEmitter(), { stats: () => stats });
  const recent = recordRecent(tracker as unknown as Pick<Affiliate, "on" | "stats">, clock);
  return { clock, tracker, recent, stats };
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
});

it("the dashboard counts apart what is given up and what is held, because it may have arrived", () => {
  const { tracker, recent } = startRecording();
  for (const reason of ["rejected", "unconfirmed", "unconfirmed", "expired"])
    tracker.emit("dead", { kind: "payment", reason });
  const { dead, held } = recent.lastHour();
  expect([dead.payment, held.payment]).toEqual([2, 2]);
  expect(recent.failures().map(({ outcome }) => outcome)).toEqual(["dead", "held", "dead"]);
});

describe("how many events waited", () => {
  it("is the most of each minute, whether or not anyone looks, for an hour", async () => {
    const { clock, recent, stats } = startRecording();
    await clock.pass(5 * MINUTE_MS);
    stats.queued = 7;
    await clock.pass(30_000);
    stats.queued = 2;
    await clock.pass(40_000);
    const minutes = recent.waitingWith(3);
    expect(minutes).toHaveLength(60);
    expect(minutes.slice(-3)).toEqual([0, 7, 3]);

    stats.queued = 0;
    await clock.pass(59 * MINUTE_MS);
    expect(recent.waitingWith(0).filter((most) => most > 0)).toEqual([3]);
    await clock.pass(2 * MINUTE_MS);
    expect(recent.waitingWith(0)).toEqual(new Array(60).fill(0));
  });

  it("keeps one timer, however long it lasts, and none once the tracker is closed", async () => {
    const { clock, stats } = startRecording();
    await clock.pass(24 * 60 * MINUTE_MS);
    expect(clock.pending).toBe(1);
    stats.state = "closed";
    await clock.pass(MINUTE_MS);
    expect(clock.pending).toBe(0);
  });
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

it("the dashboard knows why an endpoint is paused until it goes on, and of the service first", () => {
  const { tracker, recent } = startRecording();
  tracker.emit("paused", { scope: "click", because: "answered 500" });
  tracker.emit("paused", { scope: "origin", because: "ECONNREFUSED" });
  expect(recent.causeOf("click")).toBe("ECONNREFUSED");
  tracker.emit("resumed", { scope: "origin" });
  expect([recent.causeOf("click"), recent.causeOf("registration")]).toEqual(["answered 500", undefined]);
  tracker.emit("resumed", { scope: "click" });
  expect(recent.causeOf("click")).toBeUndefined();
});
