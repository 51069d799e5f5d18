import { setTimeout as sleep } from "node:timers/promises";
import type { Outbox, OutboxEvent } from "express-affiliate";
import type { Verdict } from "../../src/outbox/outbox.js";
import { DESTINATION } from "../../test/contract/samples.js";
import { delivering } from "../../test/helpers/deliver.js";

/** How many callers report at once. */
const CALLERS = 500;

/** Reports so many events. */
export async function reportMany(outbox: Outbox, events: number, make: () => OutboxEvent): Promise<void> {
  let begun = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (begun++ < events) await outbox.add(make());
    }),
  );
}

/** Delivers so many events at once, each in so many milliseconds. */
export function deliverMany(
  outbox: Outbox,
  { atOnce, answerMs, settled }: { atOnce: number; answerMs: number; settled: () => void },
): { readonly dropped: number } {
  let underWay = 0;
  const counts = { dropped: 0 };
  outbox.bind(DESTINATION);
  async function deliver(): Promise<Verdict> {
    underWay++;
    await sleep(answerMs);
    underWay--;
    return { type: "delivered" };
  }
  outbox.start(
    delivering(deliver, () => atOnce - underWay, settled),
    { dropped: () => counts.dropped++, degraded: console.error, recovered: () => console.error("recovered") },
  );
  return counts;
}
