import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { DESTINATION, sample, stranger, withData } from "../../contract/samples.js";
import { DELIVERED, diskOf, settleAll, someOf } from "../../helpers/disk-store.js";

const OLD = 41;
const MIB = 1024 * 1024;

const forOld = (event: OutboxEvent): OutboxEvent => ({ ...event, destination: OLD });

test("the disk outbox counts for each destination apart", () => {
  const disk = diskOf();
  const [first, second] = [sample("click"), sample("click")];
  disk.append({ ...first, createdAt: 1 }, { ...second, createdAt: 2 }, forOld({ ...first, createdAt: 3 }));

  const none = { queued: 0, oldest: null };
  expect(disk.counts(DESTINATION)).toEqual({
    queued: 2,
    oldest: 1,
    dead: { rejected: 0, unconfirmed: 0, expired: 0 },
    byKind: { click: { queued: 2, oldest: 1 }, registration: none, payment: none },
    byDestination: { [DESTINATION]: 2, [OLD]: 1 },
    scheduled: { count: 0, next: null },
  });
  expect(disk.counts()).toMatchObject({ queued: 3, oldest: 1 });
  expect(disk.counts(43)).toMatchObject({ queued: 0, oldest: null });
});

test("the disk outbox sheds the oldest click, whichever destination's, and says whose it was", () => {
  const disk = diskOf({ maxBytes: MIB });
  const oldest = forOld(sample("click"));
  disk.append(sample("payment"), oldest);
  while (disk.append(sample("click"))[0] === "queued");

  const { results, dropped } = disk.store.run([{ type: "append", event: sample("payment") }]);

  expect(results).toEqual(["queued"]);
  expect(dropped[0]).toEqual({ event: oldest, reason: "full" });
  expect(disk.append(oldest)).toEqual(["full"]);
});

test("the disk outbox sheds nothing for an event that will not fit all the same", () => {
  const disk = diskOf({ maxBytes: MIB });
  while (disk.append(sample("payment"))[0] === "queued");
  disk.settle(disk.claim(1)[0] as never, DELIVERED);
  disk.append(sample("click"));
  const before = disk.counts();
  const large = withData(sample("payment"), { customerEmail: "a".repeat(100_000) });

  const { results, dropped } = disk.store.run([{ type: "append", event: large }]);

  expect({ results, dropped }).toEqual({ results: ["full"], dropped: [] });
  expect(before.byKind?.click.queued).toBe(1);
  expect(disk.counts()).toEqual(before);
});

test("the disk outbox sheds no click of a crowded visitor's for one that will not fit", () => {
  const disk = diskOf({ maxBytes: MIB });
  const visitor = stranger();
  disk.append(...Array.from({ length: 100 }, () => sample("click", visitor)));
  while (disk.append(sample("payment"))[0] === "queued" && disk.counts().byKind?.click.queued === 100);
  const large = withData(sample("click", visitor), { userAgent: "a".repeat(100_000) });
  const before = disk.counts();

  const { results, dropped } = disk.store.run([{ type: "append", event: large }]);

  expect({ results, dropped }).toEqual({ results: ["full"], dropped: [] });
  expect(disk.counts()).toEqual(before);
});

test("the disk outbox forgets clicks after a day, and the oldest if there are more than ten thousand; payments as long as the option says", () => {
  let now = Date.now();
  const disk = diskOf({ rememberMs: 30 * 24 * 3_600_000, time: () => now });
  const [click, payment] = [sample("click"), sample("payment")];
  const deliver = (...events: OutboxEvent[]) => {
    disk.append(...events);
    settleAll(disk, DELIVERED);
  };
  deliver(click, payment);
  disk.store.lookAfter();
  expect(disk.append(click, payment)).toEqual(["duplicate", "duplicate"]);

  now += 24 * 3_600_000 + 1;
  disk.store.lookAfter();
  expect(disk.append(click, payment)).toEqual(["queued", "duplicate"]);
  disk.settle(disk.claim(1)[0] as never, DELIVERED);
  // Without a look after the file: they may come faster than it is looked after.
  for (let sent = 0; sent < 11_200; sent += 200) deliver(...someOf("click", 200));
  expect(disk.append(click, payment)).toEqual(["queued", "duplicate"]);
});
