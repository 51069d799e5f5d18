import { expect, onTestFinished, test } from "vitest";
import { affiliate } from "../../../src/affiliate.js";
import { diskOutbox } from "../../../src/outbox/disk/disk-outbox.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startService } from "../../helpers/service.js";

test("the thread sends many events over no more connections than `concurrency` allows, and so uses each again", async () => {
  const service = await startService();
  const outbox = diskOutbox({ directory: scratchDirectory() });
  const tracker = affiliate({ baseUrl: service.url, clientId: 1, outbox, confirmReferral: "never" });
  onTestFinished(async () => void (await tracker.close()));
  const payments = Array.from({ length: 100 }, (_, nth) =>
    tracker.trackPayment(
      { paymentId: `o-${nth}`, customerEmail: "ada@shop.example", leadValue: 19.9 },
      { sessionId: `s-${nth}` },
    ),
  );
  await Promise.all(payments);
  await tracker.flush();
  expect(service.posted).toHaveLength(100);
  expect(service.connections).toBeLessThanOrEqual(8);
});
