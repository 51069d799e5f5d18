import { expect, test } from "vitest";
import { diskOutbox } from "../../../../src/outbox/disk/disk-outbox.js";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { startService } from "../../../helpers/service.js";
import { startTracker } from "../../../helpers/tracker.js";
import { withResolvers } from "../../../helpers/with-resolvers.js";

test("payments of a disk outbox have as many requests under way as one endpoint may have, and use their connections again", async () => {
  let underWay = 0;
  let most = 0;
  let isFirst = true;
  // The first answer shows that the endpoint takes events. No other is given until six requests are
  // under way: how many are later depends on the machine.
  const sixCame = withResolvers();
  const service = await startService((_request, res) => {
    most = Math.max(most, ++underWay);
    if (underWay === 6) sixCame.resolve();
    const mayAnswer = isFirst ? undefined : sixCame.promise;
    isFirst = false;
    void Promise.resolve(mayAnswer).then(() =>
      setTimeout(() => {
        underWay--;
        res.end("{}");
      }, 5),
    );
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
