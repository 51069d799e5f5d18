import { expect, test } from "vitest";
import { notBeforeOf, type OutboxEvent } from "../../../../src/conversion/events.js";
import type { Request, Result } from "../../../../src/outbox/disk/queue/requests.js";
import { DESTINATION, scheduledSample } from "../../../contract/samples.js";
import { type Disk, diskOf } from "../../../helpers/disk-store.js";

const HOUR_MS = 3_600_000;

const ask = ({ store }: Disk, request: Request): Result => store.run([request]).results[0] as Result;
const cancel = (disk: Disk, { id }: OutboxEvent) =>
  ask(disk, { type: "cancel", destination: DESTINATION, id });

test("the store moves some due payments at a time, and asks for the next transaction soon", () => {
  let now = Date.now();
  const disk = diskOf({ time: () => now });
  disk.append(...Array.from({ length: 500 }, () => scheduledSample(HOUR_MS)));
  now += 2 * HOUR_MS;
  const { snapshot } = disk.store.run([]);
  expect(disk.counts().scheduled?.count).toBeLessThan(500);
  expect(snapshot.nextReadyAt).toBeLessThanOrEqual(now);
  for (let nth = 0; nth < 5; nth++) disk.store.run([]);
  expect(disk.counts().scheduled?.count).toBe(0);
});

test("a lost file's scheduled payments are saved, and those that were cancelled stay so", () => {
  const [lost, next] = [diskOf(), diskOf()];
  const [kept, cancelled] = [scheduledSample(HOUR_MS), scheduledSample(HOUR_MS)];
  lost.append(kept, cancelled);
  expect(cancel(lost, cancelled)).toBe("cancelled");
  next.store.salvage(lost.db);
  expect(next.counts().scheduled).toEqual({ count: 1, next: notBeforeOf(kept) });
  expect(next.append(kept, cancelled)).toEqual(["duplicate", "duplicate"]);
  expect(cancel(next, cancelled)).toBe("cancelled");
  expect(cancel(next, kept)).toBe("cancelled");
  expect(next.claim(8)).toEqual([]);
});

test("`hold` holds what is due, and leaves what is not", () => {
  let now = Date.now();
  const disk = diskOf({ time: () => now });
  const later = scheduledSample(4 * HOUR_MS);
  disk.append(...Array.from({ length: 300 }, () => scheduledSample(HOUR_MS)), later);
  now += 2 * HOUR_MS;
  expect(ask(disk, { type: "hold" })).toBe(300);
  expect(disk.counts()).toMatchObject({ queued: 1, dead: { unconfirmed: 300 } });
  expect(cancel(disk, later)).toBe("cancelled");
});

test("a scheduled payment whose row cannot be read is set aside once it is due", () => {
  let now = Date.now();
  const disk = diskOf({ time: () => now });
  const [broken, intact] = [scheduledSample(HOUR_MS), scheduledSample(HOUR_MS)];
  disk.append(broken, intact);
  disk.db.exec(`update scheduled set data = '{"cut' where id = '${broken.id}'`);
  now += 2 * HOUR_MS;
  expect(disk.claim(8).map(({ event }) => event.id)).toEqual([intact.id]);
  expect(disk.counts().queued).toBe(1);
});

test("the store forgets a cancelled id when it forgets a delivered one", () => {
  let now = Date.now();
  const disk = diskOf({ time: () => now, rememberMs: 60_000 });
  const payment = scheduledSample(HOUR_MS);
  disk.append(payment);
  expect(cancel(disk, payment)).toBe("cancelled");
  now += 61_000;
  disk.store.lookAfter();
  expect(cancel(disk, payment)).toBe("unknown");
});
