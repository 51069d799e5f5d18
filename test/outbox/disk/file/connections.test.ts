import { expect, test } from "vitest";
import { diskOutbox } from "../../../../src/outbox/disk/disk-outbox.js";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { startService } from "../../../helpers/service.js";
import { startTracker } from "../../../helpers/tracker.js";

test("the thread has as many requests under way as one endpoint may have, and uses its connections again", async () => {
  let underWay = 0;
  let most = 0;
  const service = await startService((_request, res) => {
    most = Math.max(most, ++underWay);
    setTimeout(() => {
      underWay--;
      res.end("{}");
    }, 5);
  });
  const outbox = diskOutbox({ directory: scratchDirectory() });
  const tracker = startTracker({ baseUrl: service.url, outbox, confirmReferral: "never" });
  const payments = Array.from({ length: 100 }, (_, nth) =>
    tracker.trackPayment(
      { paymentId: `o-${nth}`, customerEmail: "ada@shop.example", leadValue: 19.9 },
      { sessionId: `s-${nth}` },
    ),
  );
  await Promise.all(payments);
  await tracker.flush();
  expect(service.posted).toHaveLength(100);
  expect(most).toBe(6);
  // Undici uses a connection again one turn of the event loop after its answer. Until then, the
  // next request may open another.
  expect(service.connections).toBeLessThanOrEqual(8);
});
