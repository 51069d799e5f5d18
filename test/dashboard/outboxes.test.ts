import { type Affiliate, memoryOutbox, type Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { recordingOutbox } from "express-affiliate/testing";
import { describe, expect, it } from "vitest";
import { order } from "../helpers/conversions.js";
import { answering, faultyService } from "../helpers/faulty-service.js";
import { describeWithPostgres } from "../helpers/postgres.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { appWith, openDashboard } from "./helpers.js";

/**
 * One payment that is refused, and one that waits, reported by the first of these trackers; the
 * page of the last one.
 */
async function pageOver(outboxes: readonly Outbox[]) {
  const service = await faultyService({ onRequest: answering(422) });
  const trackers = outboxes.map((outbox) => startTracker({ baseUrl: service.url, outbox }));
  const [first, last] = [trackers[0], trackers.at(-1)] as [Affiliate, Affiliate];
  await first.trackPayment({ ...order, paymentId: "refused" }, { sessionId: "s1" });
  await expect.poll(() => first.stats().dead.rejected).toBe(1);
  service.onRequest = answering(503);
  await first.trackPayment({ ...order, paymentId: "waits" }, { sessionId: "s2" });
  return { service, first, page: openDashboard(appWith(last)) };
}

async function expectWhole({ service, first, page }: Awaited<ReturnType<typeof pageOver>>): Promise<void> {
  await expect
    .poll(async () => (await page.get("state")).body.outbox)
    .toMatchObject({
      queued: 1,
      waiting: { payment: { queued: 1, oldestMs: expect.any(Number) }, click: { queued: 0, oldestMs: null } },
      dead: { rejected: 1, unconfirmed: 0, expired: 0 },
    });
  const { letters } = (await page.get("dead-letters?kind=payment&reason=rejected")).body;
  const refused = { paymentId: "refused", amount: 19.9, email: "a***@shop.example", status: 422 };
  expect(letters).toMatchObject([refused]);
  service.onRequest = answering(200);
  await page.post("retry", { id: letters[0].id }).expect(200);
  await expect.poll(async () => (await page.get("state")).body.outbox).toMatchObject({ queued: 0 });
  await expect.poll(() => first.stats().dead).toEqual({ rejected: 0, unconfirmed: 0, expired: 0 });
}

describe("what waits and what is dead", () => {
  it("is the process's own with a memory outbox", async () => {
    await expectWhole(await pageOver([memoryOutbox()]));
  });

  it("is the whole fleet's with a disk outbox", async () => {
    const directory = scratchDirectory();
    const [one, other] = [1, 2].map(() => diskOutbox({ directory, leaseMs: 1_000 })) as [Outbox, Outbox];
    await expectWhole(await pageOver([one, other]));
  });

  it("is not shown by kind if the outbox does not know", async () => {
    const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", outbox: recordingOutbox() });
    const page = openDashboard(appWith(tracker));
    expect((await page.get("state")).body.outbox).toMatchObject({ queued: 0 });
  });
});

describeWithPostgres("with a Postgres outbox", (database) => {
  it("what waits and what is dead is the whole fleet's", async () => {
    await expectWhole(await pageOver([await database.create(), await database.reopen()]));
  });
});
