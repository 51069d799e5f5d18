import { describe, expect, it } from "vitest";
import type { Call } from "../../src/service/calls.js";
import { seeded } from "../contract/order.js";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../helpers/times.js";
import {
  hanging,
  type Reply,
  refused,
  says,
  startDelivery,
  type VirtualOptions,
  yes,
} from "../helpers/virtual-delivery.js";

type Rig = ReturnType<typeof startDelivery>;

async function addMany({ add }: Rig, number: number, kind: "click" | "payment" = "click"): Promise<void> {
  for (let n = 0; n < number; n++) await add(kind, { sessionId: `s${n}` });
}

/** Delivery to a service that answers one visitor's events like this, and takes all others. */
const startPoisoned = (reply: Reply, options: VirtualOptions = {}) =>
  startDelivery({ reply: ({ body }) => (Object(body).sessionId === "poison" ? reply : yes), ...options });

describe("an outage of the origin", () => {
  it("begins after three attempts without a connection, and pauses all endpoints; the status endpoint is asked after 1 s, a tenth of its length later, once a minute at last", async () => {
    const rig = startDelivery({ concurrency: 1, reply: () => refused });
    await addMany(rig, 20, "payment");
    await rig.clock.pass(HOUR_MS);
    expect(rig.service.posts).toHaveLength(3);
    expect(rig.service.probes[0]?.call.path).toBe("/api/v1/tracking/status/express-affiliate-probe");
    const states = Object.values(rig.delivery.endpoints).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["paused"]));
    expect(rig.delivery.endpoints.click).toMatchObject({ reason: "unreachable" });
    const at = rig.service.probes.map((probe) => probe.at);
    const rests = at.slice(1).map((time, n) => (time - (at[n] as number)) / SECOND_MS);
    expect(rests.slice(0, 5).every((rest) => rest > 0.99 && rest < 1.1)).toBe(true);
    expect(rests.slice(-20).every((rest) => rest > 59 && rest < 61)).toBe(true);
    expect(rests).toEqual([...rests].sort((a, b) => a - b));
  });

  it.each([200, 404, 401, 500, 429])("ends when the status endpoint answers, be it %i", async (status) => {
    const rig = startDelivery({ reply: () => refused });
    await addMany(rig, 30);
    await rig.clock.pass(10 * SECOND_MS);
    rig.service.reply = ({ method }) => (method === "GET" ? says(status) : yes);
    await rig.clock.pass(5 * SECOND_MS);
    expect(rig.service.taken).toHaveLength(30);
  });

  it("ends with one, two, three, … requests at a time", async () => {
    const rig = startDelivery({ reply: () => refused });
    await addMany(rig, 100);
    await rig.clock.pass(SECOND_MS);
    rig.service.reply = ({ method }) => ({ ...yes, afterMs: method === "GET" ? 1 : 100 });
    const before = rig.service.posts.length;
    await rig.clock.pass(MINUTE_MS);
    const atOnce = new Map<number, number>();
    for (const { at } of rig.service.posts.slice(before)) atOnce.set(at, (atOnce.get(at) ?? 0) + 1);
    expect([...atOnce.values()].slice(0, 5)).toEqual([1, 2, 4, 6, 6]);
  });

  it("is reported once when it begins and once when it ends, by the name of the origin", async () => {
    const rig = startDelivery({ reply: () => refused });
    await addMany(rig, 50);
    await rig.clock.pass(HOUR_MS);
    rig.service.reply = () => yes;
    await rig.clock.pass(HOUR_MS);
    const because = "the connection was reset";
    expect(rig.noticesOf("paused")).toEqual([
      { scope: "origin", reason: "unreachable", forMs: 1_000, pausedMs: 0, because },
    ]);
    expect(rig.noticesOf("resumed")).toEqual([{ scope: "origin", pausedMs: expect.any(Number) }]);
    expect(rig.noticesOf("resumed")[0]?.pausedMs).toBeGreaterThan(HOUR_MS - 2 * SECOND_MS);
    expect(rig.lines.filter((line) => line.includes("paused"))).toEqual([
      "express-affiliate: delivery to the service is paused, unreachable since 2025-01-01T00:00:00.001Z: the connection was " +
        "reset; check `baseUrl` and the way there; events wait, and go out when the service is back",
    ]);
  });
});

describe("an outage of an endpoint", () => {
  it("is not made by one visitor, whatever becomes of that visitor's events", async () => {
    const rig = startPoisoned(says(500));
    for (let n = 0; n < 20; n++) await rig.add("click", { sessionId: "poison" });
    await rig.clock.pass(HOUR_MS);
    expect(rig.noticesOf("paused")).toEqual([]);
    await rig.add("click", { sessionId: "other" });
    await rig.clock.pass(SECOND_MS);
    expect(rig.service.taken).toHaveLength(1);
  });

  it("is not made by attempts that began before the last event was taken", async () => {
    const isSilentTo = (sessionId: unknown) => sessionId === "s0" || sessionId === "s1";
    const rig = startDelivery({ reply: ({ body }) => (isSilentTo(Object(body).sessionId) ? hanging : yes) });
    await addMany(rig, 3, "payment");
    await rig.clock.pass(MINUTE_MS);
    expect(rig.outbox.counts()).toMatchObject({ queued: 0, dead: { unconfirmed: 2 } });
    expect(rig.noticesOf("paused")).toEqual([]);
  });

  it("leaves the other endpoints alone, and is reported by its name, with the status and the remedy", async () => {
    const rig = startDelivery({ reply: ({ path }) => (path.endsWith("/click") ? says(500) : yes) });
    await addMany(rig, 30);
    await rig.clock.pass(10 * SECOND_MS);
    for (let n = 0; n < 30; n++) await rig.add("payment", { sessionId: `p${n}` });
    await rig.clock.pass(SECOND_MS);
    expect(rig.service.taken).toHaveLength(30);
    const { click, ...others } = rig.delivery.endpoints;
    expect(click).toMatchObject({ state: "paused", reason: "failing" });
    expect(Object.values(others)).toEqual(Array(3).fill({ state: "open" }));
    expect(rig.noticesOf("paused")).toMatchObject([{ scope: "click", reason: "failing" }]);
    expect(rig.lines.filter((line) => line.includes("paused"))).toEqual([
      expect.stringMatching(
        /the endpoint click is paused, failing since 2025-01-01T00:00:0.*: answered 500: .*events wait/,
      ),
    ]);
  });

  it("is reported again when it turns into something that the host must act upon", async () => {
    const rig = startDelivery({ reply: () => says(500) });
    await addMany(rig, 50);
    await rig.clock.pass(MINUTE_MS);
    rig.service.reply = () => says(401);
    await rig.clock.pass(10 * MINUTE_MS);
    expect(rig.noticesOf("paused").map(({ reason }) => reason)).toEqual(["failing", "unauthorized"]);
    expect(rig.noticesOf("resumed")).toEqual([]);
    expect(rig.lines.at(-1)).toMatch(/unauthorized since .* answered 401: .* check `apiKey`/);
  });
});

describe("an event that is refused", () => {
  it.each([301, 302, 307, 308, 401, 403, 404, 405, 407, 410, 501])(
    "with %i five times while others pass is a dead letter, and the endpoint is not paused",
    async (status) => {
      const rig = startPoisoned(says(status));
      await rig.add("payment", { sessionId: "poison" });
      for (let n = 0; n < 60; n++) {
        await rig.add("payment", { sessionId: `s${n}` });
        await rig.clock.pass(SECOND_MS);
      }
      expect(rig.service.taken).toHaveLength(60);
      expect(await rig.outbox.deadLetters.list()).toMatchObject([{ reason: "rejected", status }]);
      expect(rig.noticesOf("paused")).toEqual([]);
      expect(rig.service.posts.length - 60).toBeLessThanOrEqual(10);
    },
  );

  it("as all others are, since the clock was set back, is none, though others passed before", async () => {
    const rig = startDelivery();
    await addMany(rig, 1, "payment");
    await rig.clock.pass(SECOND_MS);
    const { now } = rig.clock;
    rig.clock.now = () => now() - 2 * HOUR_MS;
    rig.service.reply = () => says(401);
    // So few that each is tried more than five times.
    await addMany(rig, 3, "payment");
    await rig.clock.pass(HOUR_MS);
    expect(rig.outbox.counts()).toMatchObject({ queued: 3, dead: { rejected: 0 } });
    rig.service.reply = () => yes;
    await rig.clock.pass(2 * MINUTE_MS);
    expect(rig.service.taken).toHaveLength(4);
  });

  it.each([
    [401, /lead\/payment refuses events: .*check `apiKey`/],
    [404, /lead\/payment refuses events: .*check `baseUrl`/],
  ])(
    "with %i is reported although there is only that one, if nothing has been taken",
    async (status, line) => {
      const rig = startDelivery({ reply: () => says(status) });
      await rig.add("payment", { sessionId: "s" });
      await rig.clock.pass(SECOND_MS);
      expect(rig.lines).toEqual([expect.stringMatching(line)]);
    },
  );
});

it.each([16, 64])(
  "a service that never answers leaves no more payments unconfirmed than the slots and a few probes, with %i",
  async (concurrency) => {
    const rig = startDelivery({ concurrency, reply: () => hanging });
    for (let n = 0; n < 200; n++) {
      await rig.add("payment", { sessionId: `s${n}` });
      await rig.clock.pass(37);
    }
    await rig.clock.pass(10 * MINUTE_MS);
    expect(rig.outbox.counts().dead.unconfirmed).toBeLessThanOrEqual(concurrency + 1);
    rig.service.reply = () => yes;
    await rig.clock.pass(HOUR_MS);
    expect(rig.outbox.counts().queued).toBe(0);
  },
);

describe("a gateway that answers 502 or 504", () => {
  const isPayment = ({ path }: Call) => path.endsWith("/lead/payment");

  it.each([502, 504])("to the status endpoint too is an outage of the origin: %i", async (status) => {
    const rig = startDelivery({ reply: () => says(status) });
    await rig.add("payment", { sessionId: "s" });
    await rig.clock.pass(SECOND_MS);
    await addMany(rig, 100, "payment");
    await rig.clock.pass(24 * HOUR_MS);
    expect(rig.service.posts).toHaveLength(1);
    expect(rig.outbox.counts()).toMatchObject({ queued: 100, dead: { unconfirmed: 1 } });
    expect(rig.noticesOf("paused")).toMatchObject([{ scope: "origin", reason: "unreachable" }]);
    expect(rig.lines).toContainEqual(expect.stringContaining(`answered ${status}`));
    rig.service.reply = () => yes;
    await rig.clock.pass(MINUTE_MS + SECOND_MS);
    expect(rig.service.taken).toHaveLength(100);
    expect(rig.noticesOf("resumed")).toMatchObject([{ scope: "origin" }]);
  });

  it("is found out by clicks before a payment is risked", async () => {
    const rig = startDelivery({ reply: () => says(502) });
    await addMany(rig, 30);
    await rig.clock.pass(MINUTE_MS);
    await addMany(rig, 100, "payment");
    await rig.clock.pass(HOUR_MS);
    expect(rig.outbox.counts().dead.unconfirmed).toBe(0);
  });

  it("to payments alone pauses their endpoint, not the origin", async () => {
    const rig = startDelivery({ reply: (call) => (isPayment(call) ? says(502) : yes) });
    await addMany(rig, 30, "payment");
    await rig.clock.pass(MINUTE_MS);
    expect(rig.noticesOf("paused")).toMatchObject([{ scope: "lead/payment", reason: "failing" }]);
    for (let n = 0; n < 30; n++) await rig.add("click", { sessionId: `other${n}` });
    await rig.clock.pass(SECOND_MS);
    expect(rig.service.taken).toHaveLength(30);
  });

  it("to a part of all requests is no outage while others are taken", async () => {
    const random = seeded(3);
    const rig = startDelivery({ reply: () => (random() < 0.3 ? says(502) : yes) });
    await addMany(rig, 1_000);
    await rig.clock.pass(20 * SECOND_MS);
    expect(rig.service.taken).toHaveLength(1_000);
    expect(rig.service.probes).toEqual([]);
  });

  it("to payments, and in the moments after each to everything, still gets few of them", async () => {
    // The payment brings the service down, and somebody starts it again.
    let backAt = 0;
    const rig = startDelivery({
      reply: (call) => {
        if (rig.clock.now() < backAt) return says(502);
        if (!isPayment(call)) return yes;
        backAt = rig.clock.now() + 3 * SECOND_MS;
        return says(502);
      },
    });
    await addMany(rig, 200, "payment");
    await rig.clock.pass(HOUR_MS);
    expect(rig.outbox.counts().dead.unconfirmed).toBeLessThanOrEqual(12);
  });
});

describe("a service that asks to be left alone", () => {
  it("is left alone as long, counts no attempt, and is shown as paused until then, not until it takes an event", async () => {
    const rig = startDelivery({ concurrency: 1, reply: () => says(429, { retryAfter: "30" }) });
    await addMany(rig, 10, "payment");
    await rig.clock.pass(29 * SECOND_MS);
    const paused = { scope: "lead/payment", reason: "throttled", forMs: 30 * SECOND_MS };
    expect(rig.noticesOf("paused")).toMatchObject([paused]);
    const state = () => rig.delivery.endpoints["lead/payment"];
    expect(state()).toMatchObject({ state: "paused", reason: "throttled" });
    expect(rig.service.sent).toHaveLength(1);
    rig.service.reply = () => ({ ...yes, afterMs: 2 * SECOND_MS });
    await rig.clock.pass(2 * SECOND_MS);
    expect(state()).toEqual({ state: "open" });
    await rig.clock.pass(MINUTE_MS);
    expect(rig.noticesOf("delivered").map(({ attempts }) => attempts)).toEqual(Array(10).fill(1));
    expect(rig.noticesOf("retry")).toEqual([]);
  });

  it("is still shown as paused when that time is up, if it failed before", async () => {
    const rig = startDelivery({ reply: () => says(500) });
    await addMany(rig, 30, "payment");
    await rig.clock.pass(5 * MINUTE_MS);
    const state = () => rig.delivery.endpoints["lead/payment"];
    expect(state()).toMatchObject({ state: "paused", reason: "failing" });
    let pauses = 1;
    rig.service.reply = () => (pauses-- > 0 ? says(503, { retryAfter: "5" }) : says(500));
    while (rig.noticesOf("paused").at(-1)?.reason !== "throttled") await rig.clock.pass(100);
    await rig.clock.pass(6 * SECOND_MS);
    expect(state()).toMatchObject({ state: "paused", reason: "failing" });
  });

  it("is shown as paused since its last request, if the one before ended long ago", async () => {
    const rig = startDelivery({ reply: () => says(429, { retryAfter: "5" }) });
    await rig.add("payment", { sessionId: "s" });
    await rig.clock.pass(SECOND_MS);
    // As if another process had taken it.
    await rig.outbox.erase({ sessionId: "s" });
    await rig.clock.pass(12 * HOUR_MS);
    await rig.add("payment", { sessionId: "t" });
    await rig.clock.pass(SECOND_MS);
    const state = rig.delivery.endpoints["lead/payment"];
    expect(state).toMatchObject({ state: "paused", reason: "throttled" });
    expect("pausedMs" in state && state.pausedMs).toBeLessThan(5 * SECOND_MS);
  });

  it("again and again is one pause, whatever it takes elsewhere meanwhile", async () => {
    const asking = { ...says(429, { retryAfter: "30" }), afterMs: SECOND_MS };
    const rig = startDelivery({ reply: ({ path }) => (path.endsWith("/lead/payment") ? asking : yes) });
    await rig.add("payment", { sessionId: "s" });
    for (let nth = 0; nth < 1_800; nth++) {
      await rig.add("click", { sessionId: `${nth}` });
      await rig.clock.pass(SECOND_MS / 2);
    }
    expect([rig.noticesOf("paused").length, rig.noticesOf("resumed").length]).toEqual([1, 0]);
    const state = rig.delivery.endpoints["lead/payment"];
    expect("pausedMs" in state && state.pausedMs).toBeGreaterThan(14 * MINUTE_MS);
  });

  it("by its status endpoint is asked by it no more until then", async () => {
    const rig = startDelivery({
      reply: ({ method }) => (method === "GET" ? says(429, { retryAfter: "600" }) : hanging),
    });
    await addMany(rig, 30, "payment");
    await rig.clock.pass(9 * MINUTE_MS);
    expect(rig.service.probes).toHaveLength(1);
  });
});

it.each([
  [1, 1],
  [2, 1],
  [8, 6],
  [32, 24],
])(
  "the sockets are %i, of which clicks take %i, and payments have the rest at once",
  async (concurrency, places) => {
    const rig = startDelivery({ concurrency, reply: () => ({ ...yes, afterMs: 1_000 }) });
    await addMany(rig, 100);
    await rig.clock.pass(100);
    expect(rig.service.posts).toHaveLength(places);
    await rig.add("payment", { sessionId: "payer" });
    await rig.clock.pass(100);
    expect(rig.service.posts).toHaveLength(Math.min(concurrency, places + 1));
  },
);

describe("age", () => {
  it("kills an event whose attempt fails past `maxAgeMs` while others are taken, and no sooner", async () => {
    const { clock, service, outbox, add, noticesOf } = startPoisoned(says(500), { maxAgeMs: HOUR_MS });
    await add("payment", { sessionId: "poison" });
    for (let minute = 0; minute < 80; minute++) {
      await add("payment", { sessionId: `s${minute}` });
      await clock.pass(MINUTE_MS);
      if (minute < 60) expect(noticesOf("dead")).toEqual([]);
    }
    expect(outbox.counts()).toMatchObject({ queued: 0, dead: { expired: 1 } });
    const [letter] = await outbox.deadLetters.list();
    const attempts = service.posts.length - 80;
    expect(letter).toMatchObject({ reason: "expired", status: 500, attempts });
    expect(letter?.diedAt).toBeGreaterThan((letter?.createdAt ?? 0) + HOUR_MS);
    const last = service.posts.findLast(({ reply }) => !reply.taken);
    expect(letter?.diedAt).toBe((last?.at ?? 0) + 5);
  });

  it("kills no event while the service takes no others, however often it fails", async () => {
    const { clock, service, add, outbox, noticesOf } = startDelivery({ reply: () => says(500) });
    await add("registration", { clickId: "c" });
    await clock.pass(80 * HOUR_MS);
    expect(outbox.counts().queued).toBe(1);
    expect(service.posts.length).toBeGreaterThan(250);
    expect(noticesOf("paused")).toEqual([]);
  });
});

it.each([1, 2, 3])(
  "a service that dies behind its gateway while requests are under way, %i of them taken, costs 8 payments at most",
  async (taken) => {
    let requests = 0;
    const { outbox, add, clock } = startDelivery({
      reply: ({ method }) => {
        if (method === "GET") return says(502);
        requests++;
        if (requests <= taken) return { ...yes, afterMs: 10 };
        return { ...says(502), afterMs: requests <= 6 ? 12 : 5 };
      },
    });
    for (let nth = 0; nth < 50; nth++) await add("payment", { sessionId: `s${nth}` });
    await clock.pass(30 * SECOND_MS);

    const { queued, dead } = outbox.counts();
    expect(dead.unconfirmed).toBeGreaterThan(0);
    expect(dead.unconfirmed).toBeLessThanOrEqual(8);
    expect(queued).toBe(50 - taken - dead.unconfirmed);
  },
);
