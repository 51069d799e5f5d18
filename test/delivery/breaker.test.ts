import { describe, expect, it } from "vitest";
import { hanging, refused, says, startDelivery, yes } from "../helpers/virtual-delivery.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("an outage", () => {
  it("costs a service that answers 500 for 4 s fewer than 60 requests with 300 events waiting", async () => {
    const { clock, service, add, outbox } = startDelivery();
    const start = clock.now();
    service.reply = () => (clock.now() - start < 4_000 ? says(500) : yes);
    for (let n = 0; n < 300; n++) await add("click", { clickId: `c${n}` });

    await clock.pass(4_000);
    expect(service.sent.length).toBeLessThan(60);
    await clock.pass(5 * MINUTE_MS);
    expect(outbox.counts().queued).toBe(0);
    expect(new Set(service.taken).size).toBe(300);
    expect(service.taken.length).toBe(300);
  });

  it("opens after 5 failures in a row and sends nothing but status requests until one is answered", async () => {
    const { clock, service, add } = startDelivery({ concurrency: 1, reply: () => refused });
    for (let n = 0; n < 20; n++) await add("payment", { clickId: `c${n}` });
    await clock.pass(HOUR_MS);
    expect(service.posts).toHaveLength(5);
    expect(service.probes.length).toBeGreaterThan(50);
    expect(service.probes.length).toBeLessThan(70);
    expect(service.probes[0]?.call.path).toBe("/api/v1/tracking/status/express-affiliate-probe");
  });

  it("rests for 5, 10, 20, 40, 60, 60 … seconds between probes", async () => {
    const { clock, service, add } = startDelivery({ concurrency: 1, reply: () => refused });
    for (let n = 0; n < 5; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(5 * MINUTE_MS);
    const at = service.probes.map((probe) => probe.at);
    const rests = at.slice(1).map((time, n) => Math.round((time - (at[n] as number)) / 1_000));
    expect(rests).toEqual([10, 20, 40, 60, 60, 60]);
  });

  it("does not begin for one visitor whose events the service cannot stomach", async () => {
    const { clock, service, add, noticesOf } = startDelivery({
      reply: ({ body }) => ((body as { clickId?: string })?.clickId === "poison" ? says(500) : yes),
    });
    for (let n = 0; n < 20; n++) await add("click", { clickId: "poison" });
    await clock.pass(HOUR_MS);
    expect(noticesOf("paused")).toEqual([]);
    await add("click", { clickId: "other" });
    await clock.pass(1_000);
    expect(service.taken).toHaveLength(1);
  });

  it("ends with one, two, four, eight requests at a time", async () => {
    const { clock, service, add } = startDelivery();
    let down = true;
    service.reply = () => (down ? refused : { ...yes, afterMs: 100 });
    for (let n = 0; n < 100; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(1_000);
    down = false;
    const before = service.posts.length;
    await clock.pass(HOUR_MS);
    const times = new Map<number, number>();
    for (const { at } of service.posts.slice(before)) times.set(at, (times.get(at) ?? 0) + 1);
    expect([...times.values()].slice(0, 5)).toEqual([1, 2, 4, 8, 8]);
  });

  it("is told once when it begins, whatever it turns into in between, and once when it ends", async () => {
    const { clock, service, add, noticesOf, lines } = startDelivery({ reply: () => refused });
    for (let n = 0; n < 50; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(HOUR_MS);
    service.reply = () => yes;
    await clock.pass(HOUR_MS);
    expect(noticesOf("paused")).toEqual([
      { reason: "failing", forMs: 5_000, because: "the connection was reset" },
    ]);
    expect(noticesOf("resumed")).toHaveLength(1);
    expect(noticesOf("resumed")[0]?.pausedMs).toBeGreaterThan(HOUR_MS - 1_000);
    expect(lines.filter((line) => line.includes("paused"))).toHaveLength(1);
  });

  it("is told again when it turns into something that somebody must act upon", async () => {
    const { clock, service, add, noticesOf } = startDelivery({ reply: () => refused });
    for (let n = 0; n < 50; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(MINUTE_MS);
    service.reply = () => says(401);
    await clock.pass(10 * MINUTE_MS);
    expect(noticesOf("paused").map(({ reason }) => reason)).toEqual(["failing", "unauthorized"]);
    expect(noticesOf("resumed")).toEqual([]);
  });
});

describe("a service that swallows requests", () => {
  it("leaves at most `concurrency` payments unconfirmed, and gets the rest when it is back", async () => {
    const { clock, service, add, outbox } = startDelivery({ reply: () => hanging });
    for (let n = 0; n < 100; n++) await add("payment", { clickId: `c${n}` });
    await clock.pass(10 * MINUTE_MS);
    expect(outbox.counts().dead.unconfirmed).toBeLessThanOrEqual(8);
    service.reply = () => yes;
    await clock.pass(10 * MINUTE_MS);
    const { queued, dead } = outbox.counts();
    expect(queued).toBe(0);
    expect(service.taken.length).toBe(100 - dead.unconfirmed);
  });

  it("leaves no more unconfirmed when payments come one by one", async () => {
    const { clock, service, add, outbox } = startDelivery({ reply: () => hanging });
    for (let n = 0; n < 100; n++) {
      await add("payment", { clickId: `c${n}` });
      await clock.pass(100);
    }
    await clock.pass(10 * MINUTE_MS);
    expect(outbox.counts().dead.unconfirmed).toBeLessThanOrEqual(8);
    expect(service.posts.length).toBeLessThanOrEqual(8);
  });

  it.each([1, 2, 3, 5, 8, 64])("leaves no more unconfirmed with a concurrency of %i", async (concurrency) => {
    const { clock, service, add, outbox } = startDelivery({ concurrency, reply: () => hanging });
    for (let n = 0; n < 200; n++) {
      await add("payment", { clickId: `c${n}` });
      await clock.pass(37);
    }
    await clock.pass(10 * MINUTE_MS);
    expect(outbox.counts().dead.unconfirmed).toBeLessThanOrEqual(concurrency);
    service.reply = () => yes;
    await clock.pass(10 * MINUTE_MS);
    expect(outbox.counts().queued).toBe(0);
  });

  it("leaves no more unconfirmed when they are all of one visitor", async () => {
    const { clock, service, add, outbox } = startDelivery({ reply: () => hanging });
    for (let n = 0; n < 100; n++) await add("payment", { sessionId: "s" });
    await clock.pass(HOUR_MS);
    expect(outbox.counts().dead.unconfirmed).toBeLessThanOrEqual(8);
    service.reply = () => yes;
    await clock.pass(10 * MINUTE_MS);
    expect(outbox.counts().queued).toBe(0);
  });
});

describe("what was under way when a pause began", () => {
  it("does not lengthen it when it fails late", async () => {
    const { clock, service, add } = startDelivery();
    const start = clock.now();
    let posts = 0;
    // Two are slow to fail; five fail at once and open the breaker; from the first second on, all is well.
    service.reply = ({ method }) => {
      if (method === "GET" || clock.now() - start > 1_000) return yes;
      return posts++ < 2 ? { ...refused, afterMs: 5_030 } : refused;
    };
    for (let n = 0; n < 20; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(60_000);
    expect(service.probes).toHaveLength(1);
    expect(service.taken).toHaveLength(20);
  });
});

describe("a key that the service refuses", () => {
  it("pauses, warns once with the remedy, counts no attempt, and asks the status endpoint every 5 minutes", async () => {
    const { clock, service, add, outbox, lines, noticesOf } = startDelivery({ reply: () => says(401) });
    for (let n = 0; n < 100; n++) await add("payment", { clickId: `c${n}` });
    await clock.pass(58 * MINUTE_MS);
    expect(service.posts.length).toBeLessThanOrEqual(8);
    expect(service.probes).toHaveLength(11);
    expect(outbox.counts()).toMatchObject({ queued: 100, dead: { rejected: 0, unconfirmed: 0 } });
    expect(noticesOf("retry")).toEqual([]);
    expect(noticesOf("paused")).toHaveLength(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/unauthorized.*check `apiKey`/);

    service.reply = () => yes;
    await clock.pass(10 * MINUTE_MS);
    expect(service.taken).toHaveLength(100);
    expect(noticesOf("delivered").every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it("lets an event try once an hour, where the status endpoint alone goes on to refuse it", async () => {
    const { clock, service, add, outbox } = startDelivery({ reply: () => says(401) });
    await add("click", { clickId: "c" });
    await clock.pass(MINUTE_MS);
    service.reply = ({ method }) => (method === "GET" ? says(401) : yes);
    await clock.pass(HOUR_MS);
    expect(outbox.counts().queued).toBe(0);
  });
});

describe("a base URL that leads nowhere", () => {
  it.each([301, 302, 307, 308, 404, 405, 410, 501])(
    "pauses at %i with the remedy and burns no attempt",
    async (status) => {
      const { clock, service, add, outbox, lines } = startDelivery({ reply: () => says(status) });
      for (let n = 0; n < 30; n++) await add("payment", { clickId: `c${n}` });
      await clock.pass(HOUR_MS / 2);
      expect(outbox.counts().queued).toBe(30);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/misconfigured.*check `baseUrl`/);
      expect(service.probes.length).toBeLessThanOrEqual(6);
      service.reply = () => yes;
      await clock.pass(10 * MINUTE_MS);
      expect(service.taken).toHaveLength(30);
    },
  );

  it("takes a 404 from the status endpoint for an unknown session, and lets one event try", async () => {
    const { clock, service, add, outbox } = startDelivery({ reply: () => says(404) });
    for (let n = 0; n < 30; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(MINUTE_MS);
    service.reply = ({ method }) => (method === "GET" ? says(404) : yes);
    await clock.pass(6 * MINUTE_MS);
    expect(outbox.counts().queued).toBe(0);
  });
});

describe("a service that asks to be left alone", () => {
  it.each([
    ["429 with seconds", says(429, { retryAfter: "30" }), 30_000],
    ["503 with seconds", says(503, { retryAfter: "30" }), 30_000],
    ["429 with a date", says(429, { retryAfter: "Wed, 01 Jan 2025 00:00:40 GMT" }), 39_995],
    ["429 with an hour too long", says(429, { retryAfter: "86400" }), HOUR_MS],
    ["429 with no time at all", says(429, { retryAfter: "0" }), 1_000],
    ["429 with a date gone by", says(429, { retryAfter: "Wed, 01 Jan 2020 00:00:00 GMT" }), 1_000],
    ["429 without a word", says(429), 5_000],
    ["429 with rubbish", says(429, { retryAfter: "soon" }), 5_000],
  ])("is left alone as long: %s", async (_name, reply, forMs) => {
    const { clock, service, add, noticesOf } = startDelivery({ concurrency: 1, reply: () => reply });
    for (let n = 0; n < 10; n++) await add("payment", { clickId: `c${n}` });
    await clock.pass(100);
    expect(noticesOf("paused")).toMatchObject([{ reason: "throttled", forMs }]);
    service.reply = () => yes;
    await clock.pass(forMs - 200);
    expect(service.sent).toHaveLength(1);
    await clock.pass(1_000);
    expect(service.taken).toHaveLength(10);
    expect(service.probes).toEqual([]);
    expect(noticesOf("delivered").every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it("is obeyed when it asks by way of a probe", async () => {
    const { clock, service, add, noticesOf } = startDelivery({ reply: () => refused });
    for (let n = 0; n < 30; n++) await add("click", { clickId: `c${n}` });
    await clock.pass(1_000);
    service.reply = () => says(429, { retryAfter: "600" });
    await clock.pass(5_000);
    const { length } = service.sent;
    service.reply = () => yes;
    await clock.pass(9 * MINUTE_MS);
    expect(service.sent).toHaveLength(length);
    expect(noticesOf("paused").map(({ reason }) => reason)).toEqual(["failing", "throttled"]);
  });
});
