import { describe, expect, it } from "vitest";
import type { OutboxEvent } from "../../src/events.js";
import { refused, says, startDelivery, type VirtualService, yes } from "../helpers/virtual-delivery.js";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const EVENTS = 10_000;
const STEPS = ["click", "registration", "payment", "payment"] as const;

/** 2,500 visitors who come, sign up and pay twice while the service is down. */
async function liveThrough(outageMs: number, reply: () => typeof yes) {
  const rig = startDelivery({ reply });
  const events: OutboxEvent[] = [];
  for (let n = 0; n < EVENTS; n++) {
    const visitor = n % (EVENTS / STEPS.length);
    const kind = STEPS[Math.floor(n / (EVENTS / STEPS.length))] as (typeof STEPS)[number];
    events.push(await rig.add(kind, { clickId: `c${visitor}`, sessionId: `s${visitor}` }));
    await rig.clock.pass(outageMs / EVENTS);
  }
  return { ...rig, events };
}

function expectOrderPerVisitor({ taken }: VirtualService, events: readonly OutboxEvent[]): void {
  const position = new Map(taken.map((id, index) => [id, index]));
  const last = new Map<string, number>();
  for (const { id, data } of events) {
    const at = position.get(id) ?? -1;
    expect(at).toBeGreaterThan(last.get(data.clickId as string) ?? -1);
    last.set(data.clickId as string, at);
  }
}

describe("72 hours without the service", () => {
  it("are asked through once a minute, and end with 10,000 events delivered once and in order", async () => {
    const { clock, service, outbox, events, noticesOf } = await liveThrough(71 * HOUR_MS, () => refused);
    expect(service.posts.length).toBeLessThan(20);
    expect(service.probes.length).toBeLessThan(71 * 60 + 20);
    expect(outbox.counts().queued).toBe(EVENTS);

    const before = service.posts.length;
    service.reply = () => yes;
    await clock.pass(HOUR_MS);
    expect(outbox.counts()).toMatchObject({ queued: 0, dead: { expired: 0, rejected: 0, unconfirmed: 0 } });
    expect(service.posts.length - before).toBe(EVENTS);
    expect(new Set(service.taken).size).toBe(EVENTS);
    expect(service.taken).toHaveLength(EVENTS);
    expectOrderPerVisitor(service, events);
    expect(service.mostAtOnce).toBeLessThanOrEqual(8);
    expect(noticesOf("paused")).toHaveLength(1);
    expect(noticesOf("resumed")).toHaveLength(1);
  });

  it("cost one event a minute where the status endpoint answers and the others do not", async () => {
    const { clock, service, outbox, events } = await liveThrough(71 * HOUR_MS, () => says(500) as typeof yes);
    service.reply = ({ method }) => (method === "GET" ? yes : says(500));
    await clock.pass(10 * 60 * SECOND_MS);
    expect(service.posts.length).toBeLessThan(40);
    service.reply = () => yes;
    await clock.pass(HOUR_MS);
    expect(outbox.counts().queued).toBe(0);
    expectOrderPerVisitor(service, events);
    expect(service.taken).toHaveLength(EVENTS);
  });
});

describe("age", () => {
  it("kills what is older than `maxAgeMs` when its turn comes, without asking the service", async () => {
    const { clock, service, outbox, add, noticesOf } = startDelivery({ reply: () => refused });
    for (let n = 0; n < 20; n++) await add("payment", { clickId: `c${n}` });
    await clock.pass(73 * HOUR_MS);
    const young = await add("payment", { clickId: "young" });
    const { length } = service.posts;
    service.reply = () => yes;
    await clock.pass(HOUR_MS);

    expect(outbox.counts()).toMatchObject({ queued: 0, dead: { expired: 20 } });
    expect(service.posts).toHaveLength(length + 1);
    expect(service.taken).toEqual([young.id]);
    expect(noticesOf("dead")[0]).toMatchObject({ reason: "expired" });
  });

  it("kills, and not the number of attempts", async () => {
    const { clock, service, add, outbox, noticesOf } = startDelivery({ reply: () => says(500) });
    await add("registration", { clickId: "c" });
    await clock.pass(71 * HOUR_MS);
    expect(outbox.counts().queued).toBe(1);
    expect(service.posts.length).toBeGreaterThan(250);
    await clock.pass(2 * HOUR_MS);
    const [letter] = await outbox.deadLetters.list();
    expect(letter).toMatchObject({ reason: "expired", attempts: service.posts.length });
    expect(noticesOf("paused")).toEqual([]);
  });
});
