import { dirname } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { sample, scheduledSample, withData } from "../../contract/samples.js";
import { until } from "../../contract/stage.js";
import { run } from "../../helpers/deliver.js";
import { appending, DELIVERED, diskOf, settleAll, someOf } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { outboxIn } from "../../helpers/watched-outbox.js";

const OLD = 41;
const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

const forOld = (event: OutboxEvent): OutboxEvent => ({ ...event, destination: OLD });

test("the disk outbox sheds a click of another client id for a payment if its own has none, and says whose it was", async () => {
  const disk = diskOf({ maxBytes: MIB });
  const oldest = forOld(sample("click"));
  await disk.append(sample("payment"), oldest);
  while ((await disk.append(sample("payment")))[0] === "queued" && (await disk.counts(OLD)).queued === 1);

  expect((await disk.counts(OLD)).queued).toBe(0);
  expect(await disk.append(oldest)).toEqual(["full"]);
});

test("the disk outbox hands out its own client id's events alone if it was asked for something before it was bound", async () => {
  const directory = scratchDirectory();
  const disk = diskOf({}, directory);
  const own = sample("payment");
  await disk.append(forOld(sample("payment")), own);
  const outbox = outboxIn(directory);
  outbox.counts();
  const { handed } = run(outbox);
  await until(() => outbox.counts().queued === 0, "it was not delivered");
  expect(handed).toEqual([own.id]);
});

test("the disk outbox sheds some events at a time if its `maxBytes` was lowered, and stores the new one", async () => {
  const disk = diskOf();
  await disk.append(...someOf("click", 3_000));
  const small = diskOf({ maxBytes: MIB }, dirname(disk.path));

  const { results, dropped } = await small.run(appending(sample("payment")));

  expect(results).toEqual(["queued"]);
  expect(dropped.length).toBeGreaterThan(10);
  expect(dropped.length).toBeLessThan(200);
});

test("the disk outbox sheds nothing for an event that will not fit all the same", async () => {
  const now = Date.now();
  // The counts are not taken anew within the test: when the oldest event happened is a second behind.
  const disk = diskOf({ maxBytes: MIB, time: () => now });
  while ((await disk.append(sample("payment")))[0] === "queued");
  await disk.settle((await disk.claim(1))[0] as never, DELIVERED);
  await disk.append(sample("click"));
  const before = await disk.counts();
  const large = withData(sample("payment"), { customerEmail: "a".repeat(100_000) });

  const { results, dropped } = await disk.run(appending(large));

  expect({ results, dropped }).toEqual({ results: ["full"], dropped: [] });
  expect(before.byKind?.click.queued).toBe(1);
  expect(await disk.counts()).toEqual(before);
});

test("the disk outbox forgets the oldest delivered clicks if there is no space for their ids, and no payment", async () => {
  const disk = diskOf({ maxBytes: MIB, rememberMs: 30 * 24 * HOUR_MS });
  const [click, payment] = [sample("click"), sample("payment")];
  const deliver = async (...events: OutboxEvent[]) => {
    await disk.append(...events);
    await settleAll(disk, DELIVERED);
    await disk.store.look(true);
  };
  await deliver(click, payment);
  for (let sent = 0; sent < 4_000; sent += 200) await deliver(...someOf("click", 200));
  expect(await disk.append(click, payment)).toEqual(["queued", "duplicate"]);
});

test("the disk outbox forgets a scheduled payment that was just delivered after those that were delivered before", async () => {
  let now = Date.now();
  const disk = diskOf({ maxBytes: MIB, rememberMs: 30 * 24 * HOUR_MS, time: () => now });
  const [scheduled, first] = [scheduledSample(HOUR_MS), sample("payment")];
  await disk.append(scheduled, first);
  for (let sent = 0; sent < 2_400; sent += 200) {
    await disk.append(...someOf("payment", 200));
    await settleAll(disk, DELIVERED);
  }
  now += 2 * HOUR_MS;
  await disk.store.look();
  await settleAll(disk, DELIVERED);

  await disk.store.look(true);
  expect(await disk.append(scheduled, first)).toEqual(["duplicate", "queued"]);
});
