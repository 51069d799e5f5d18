import type { AffiliateOptions, EventKind, Receipt } from "express-affiliate";
import type { Bound, Row } from "./figures.js";
import { fateOf, type Service } from "./service.js";
import { keyOf, trackerOf, trackNth } from "./tracker.js";

/** Reports events to a service to which something happens, and counts what became of them. */
export function startReporter(baseUrl: string, options: Partial<AffiliateOptions>) {
  const tracker = trackerOf(baseUrl, options);
  const receipts: Receipt[] = [];
  return {
    tracker,
    receipts,
    /** Reports a visitor's nth event. */
    async report(kind: EventKind, visitor: string, nth = 1): Promise<void> {
      receipts.push(await trackNth(tracker, kind, visitor, nth));
    },
    /** Ends the tracker and its service. `bound`: of what is lost or taken twice. */
    async end(service: Service, held: Bound, bound: Bound = { atMost: 0 }): Promise<Row[]> {
      const { queued } = tracker.stats();
      const letters = await tracker.deadLetters.list({ limit: 10_000, reason: "unconfirmed" });
      await tracker.close({ timeoutMs: 1_000 });
      await service.goAway();
      const keys = receipts.flatMap((receipt) => (receipt.outcome === "queued" ? keyOf(receipt.id) : []));
      const heldKeys = letters.map(({ id }) => keyOf(id));
      const { lost, paymentsTwice, outOfOrder } = fateOf(keys, service.arrivals, heldKeys);
      return [
        ["events", keys.length, { atLeast: 1 }],
        ["receipts that do not say queued", receipts.length - keys.length, { atMost: 0 }],
        ["still queued", queued, { atMost: 0 }],
        ["lost", lost, bound],
        ["payments twice", paymentsTwice, bound],
        ["out of order", outOfOrder, bound],
        ["held", letters.length, held],
      ];
    },
  };
}
