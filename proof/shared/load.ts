import { setTimeout as sleep } from "node:timers/promises";
import type { Outbox, OutboxEvent } from "express-affiliate";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DESTINATION } from "../../test/contract/samples.js";

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
  outbox.start(
    {
      capacity() {
        const limit = atOnce - underWay;
        return { limit, lanes: limit > 0 ? ENDPOINTS.map((endpoint) => ({ endpoint, limit })) : [] };
      },
      async deliver() {
        underWay++;
        await sleep(answerMs);
        underWay--;
        return { type: "delivered" };
      },
      settled,
    },
    {
      dropped: () => counts.dropped++,
      degraded: console.error,
      recovered: () => console.error("recovered"),
    },
  );
  return counts;
}
