import { diskOutbox } from "express-affiliate/disk";
import { recordingOutbox } from "express-affiliate/testing";
import { expect, it } from "vitest";
import { order } from "../helpers/conversions.js";
import { answering, faultyService } from "../helpers/faulty-service.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { appWith, openDashboard } from "./helpers.js";

it("the dashboard of one process shows, and retries, what waits and is dead in the outbox of all", async () => {
  const service = await faultyService({ onRequest: answering(422) });
  const directory = scratchDirectory();
  const start = () =>
    startTracker({ baseUrl: service.url, outbox: diskOutbox({ directory, leaseMs: 1_000 }) });
  const [first, page] = [start(), openDashboard(appWith(start()))];
  const outbox = async () => (await page.get("state")).body.outbox;
  await first.trackPayment({ ...order, paymentId: "refused" }, { sessionId: "s1" });
  await expect.poll(() => first.stats().dead.rejected).toBe(1);
  service.onRequest = answering(503);
  await first.trackPayment({ ...order, paymentId: "waits" }, { sessionId: "s2" });
  await expect.poll(outbox).toMatchObject({
    queued: 1,
    waiting: { payment: { queued: 1, oldestMs: expect.any(Number) }, click: { queued: 0, oldestMs: null } },
    dead: { rejected: 1, unconfirmed: 0, expired: 0 },
  });
  const { letters } = (await page.get("dead-letters?kind=payment&reason=rejected")).body;
  const refused = { paymentId: "refused", amount: 19.9, email: "a***@shop.example", status: 422 };
  expect(letters).toMatchObject([refused]);
  service.onRequest = answering(200);
  await page.post("retry", { id: letters[0].id }).expect(200);
  await expect.poll(outbox).toMatchObject({ queued: 0 });
  await expect.poll(() => first.stats().dead).toEqual({ rejected: 0, unconfirmed: 0, expired: 0 });
});

it("the dashboard shows no kinds of what waits if the outbox does not know them", async () => {
  const page = openDashboard(appWith(startTracker({ outbox: recordingOutbox() })));
  expect((await page.get("state")).body.outbox).toMatchObject({ queued: 0 });
});
