import type { Attribution, EventKind, OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Call } from "../../src/service/calls.js";
import { times } from "../helpers/for-any.js";
import { type Reply, refused, says, startDelivery, yes } from "../helpers/virtual-delivery.js";

const reply = fc.oneof(
  { weight: 4, arbitrary: fc.constant(yes) },
  fc.constantFrom<Reply>(
    refused,
    { taken: false, afterMs: 700, silence: "sent" },
    { taken: true, afterMs: 10_000, silence: "sent" },
    { taken: true, afterMs: 3_000, status: 200 },
    { taken: true, afterMs: 10, status: 504 },
    says(500),
    says(503, { retryAfter: "3" }),
    says(429),
    says(400),
    says(401),
    says(404),
    says(409),
  ),
);
const step = fc.record({
  kind: fc.constantFrom<EventKind>("click", "registration", "payment"),
  // None that would bring two visitors together: order along the other id is not promised.
  ids: fc.constantFrom<Attribution>(
    {},
    { clickId: "c1" },
    { sessionId: "s1" },
    { clickId: "c2", sessionId: "s2" },
    { clickId: "c2" },
    { clickId: "c3", sessionId: "s3" },
    { sessionId: "s3" },
  ),
  waitMs: fc.constantFrom(0, 0, 0, 1, 50, 1_000, 20_000),
});

const shareVisitor = (one: OutboxEvent, other: OutboxEvent) =>
  (one.data.clickId !== undefined && one.data.clickId === other.data.clickId) ||
  (one.data.sessionId !== undefined && one.data.sessionId === other.data.sessionId);

it("whatever the service does, an event goes out only when every earlier one of its visitor is delivered or dead, and a payment in doubt never again", async () => {
  await times(150).forAnyAsync(
    fc.array(step, { minLength: 1, maxLength: 25 }),
    fc.array(reply, { maxLength: 60 }),
    fc.integer({ min: 1, max: 8 }),
    async (steps, replies, concurrency) => {
      const { clock, service, outbox, journal, add } = startDelivery({ concurrency });
      const events: OutboxEvent[] = [];
      const settled = new Set<string>();
      const inDoubt = new Set<string>();
      journal.emitter.on("delivered", (notice) => settled.add((notice as { id: string }).id));
      journal.emitter.on("dead", (notice) => settled.add((notice as { id: string }).id));

      const problems: string[] = [];
      let nth = 0;
      service.reply = ({ method, idempotencyKey }: Call) => {
        const next = replies[nth++] ?? yes;
        if (method === "GET") return next;
        const index = events.findIndex(({ id }) => id === idempotencyKey);
        const event = events[index] as OutboxEvent;
        const before = events.slice(0, index).find((one) => !settled.has(one.id) && shareVisitor(one, event));
        if (before) problems.push(`${event.kind} ${index} overtook a ${before.kind}`);
        if (settled.has(event.id)) problems.push(`${event.kind} ${index} was sent when it was settled`);
        if (inDoubt.has(event.id)) problems.push(`payment ${index} was sent when it was in doubt`);
        const isDoubtful =
          ("silence" in next && next.silence === "sent") || ("status" in next && next.status === 504);
        if (event.kind === "payment" && isDoubtful) inDoubt.add(event.id);
        return next;
      };

      for (const { kind, ids, waitMs } of steps) {
        events.push(await add(kind, ids));
        if (waitMs > 0) await clock.pass(waitMs);
      }
      await clock.pass(6 * 3_600_000);

      expect(problems).toEqual([]);
      expect(outbox.counts().queued).toBe(0);
      expect(settled.size).toBe(events.length);
      expect(service.mostAtOnce).toBeLessThanOrEqual(concurrency + 1);
    },
  );
});
