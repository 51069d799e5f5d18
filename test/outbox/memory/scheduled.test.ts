import fc from "fast-check";
import { expect, it } from "vitest";
import { Scheduled } from "../../../src/outbox/memory/scheduled.js";
import { sample, withData } from "../../contract/samples.js";
import { FakeClock } from "../../helpers/fake-clock.js";

const due = (at: number) => withData(sample("payment"), { notBefore: at });

it("the schedule in memory releases each payment at its time, in their order, and none that was taken out", async () => {
  const step = fc.record({
    inMs: fc.integer({ min: 1, max: 50 }),
    takes: fc.option(fc.nat()),
    ms: fc.nat(10),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock();
      const waiting = new Map<string, number>();
      const released: number[] = [];
      const scheduled = new Scheduled(clock, ({ id, createdAt }) => {
        expect(createdAt).toBe(waiting.get(id));
        expect(createdAt).toBe(clock.now());
        waiting.delete(id);
        released.push(createdAt);
      });
      for (const { inMs, takes, ms } of steps) {
        const payment = due(clock.now() + inMs);
        scheduled.add(payment);
        waiting.set(payment.id, clock.now() + inMs);
        const id = [...waiting.keys()][(takes ?? 0) % waiting.size];
        if (takes !== null && id !== undefined) {
          expect(scheduled.take(id)?.id).toBe(id);
          expect(scheduled.take(id)).toBeUndefined();
          waiting.delete(id);
        }
        expect(scheduled.count).toEqual({
          count: waiting.size,
          next: waiting.size > 0 ? Math.min(...waiting.values()) : null,
        });
        await clock.pass(ms);
      }
      await clock.pass(100);
      expect(waiting.size).toBe(0);
      expect(scheduled.bytes).toBe(0);
      expect(released).toEqual(released.toSorted((one, other) => one - other));
    }),
    { numRuns: 50 },
  );
});

it("the schedule in memory has one timer, and none once it is stopped", () => {
  const clock = new FakeClock();
  const scheduled = new Scheduled(clock, () => {});
  for (let nth = 0; nth < 100; nth++) scheduled.add(due(clock.now() + 1_000 - nth));
  expect(clock.pending).toBe(1);
  scheduled.stop();
  expect(clock.pending).toBe(0);
});
