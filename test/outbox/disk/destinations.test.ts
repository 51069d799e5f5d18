import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { handOverThrough } from "../../../src/outbox/disk/hand-over.js";
import type { Request } from "../../../src/outbox/disk/protocol.js";
import { retryIn } from "../../../src/testing/contract/recorder.js";
import { DESTINATION, sample, stranger } from "../../../src/testing/contract/samples.js";
import { type Disk, openDisk } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

const OLD = "42:https://old.example";
const MIB = 1024 * 1024;

const forOld = (event: OutboxEvent): OutboxEvent => ({ ...event, destination: OLD });

/** Hands the events of the old destination over. `between` is called after each step, with its number. */
function handOver({ store }: Disk, between: (step: number) => void = () => {}): Promise<number> {
  let step = 0;
  return handOverThrough(
    async (request) => {
      const [result] = store.run([request]).results;
      between(step++);
      return result as never;
    },
    OLD,
    DESTINATION,
  );
}

const idsOf = (claims: readonly { event: OutboxEvent }[]) => claims.map(({ event: { id } }) => id);

test("counts for each destination apart", () => {
  const disk = openDisk(scratchDirectory());
  const [first, second] = [sample("click"), sample("click")];
  disk.append({ ...first, createdAt: 1 }, { ...second, createdAt: 2 }, forOld({ ...first, createdAt: 3 }));

  const none = { queued: 0, oldest: null };
  expect(disk.counts(DESTINATION)).toEqual({
    queued: 2,
    oldest: 1,
    dead: { rejected: 0, unconfirmed: 0, expired: 0 },
    byKind: { click: { queued: 2, oldest: 1 }, registration: none, payment: none },
    byDestination: { [DESTINATION]: 2, [OLD]: 1 },
  });
  expect(disk.counts()).toMatchObject({ queued: 3, oldest: 1 });
  expect(disk.counts("43:https://third.example")).toMatchObject({ queued: 0, oldest: null });
  disk.close();
});

test("gives a destination no number whose transaction was rolled back", () => {
  const disk = openDisk(scratchDirectory());
  const poison = { ...sample("click"), id: "no id" };
  const third = (event: OutboxEvent) => ({ ...event, destination: "43:https://third.example" });

  expect(() => disk.append(forOld(sample("click")), poison)).toThrow();
  disk.append(third(sample("click")));
  disk.append(forOld(sample("click")));

  expect(disk.counts().byDestination).toEqual({ "43:https://third.example": 1, [OLD]: 1 });
  disk.close();
});

test("sheds the oldest click, whichever destination's, and says whose it was", () => {
  const disk = openDisk(scratchDirectory(), { maxBytes: MIB });
  const oldest = forOld(sample("click"));
  disk.append(sample("payment"), oldest);
  while (disk.append(sample("click"))[0] === "queued");

  const { results, dropped } = disk.store.run([{ type: "append", event: sample("payment") }]);

  expect(results).toEqual(["queued"]);
  expect(dropped[0]).toEqual({ event: oldest, reason: "full" });
  expect(disk.append(oldest)).toEqual(["full"]);
  disk.close();
});

test("sheds nothing for an event that will not fit all the same", () => {
  const disk = openDisk(scratchDirectory(), { maxBytes: MIB });
  while (disk.append(sample("payment"))[0] === "queued");
  disk.settle(disk.claim(1)[0] as never, { type: "delivered" });
  disk.append(sample("click"));
  const before = disk.counts();
  const payment = sample("payment");
  const large = { ...payment, data: { ...payment.data, customerEmail: "a".repeat(100_000) } } as OutboxEvent;

  const { results, dropped } = disk.store.run([{ type: "append", event: large }]);

  expect({ results, dropped }).toEqual({ results: ["full"], dropped: [] });
  expect(before.byKind?.click.queued).toBe(1);
  expect(disk.counts()).toEqual(before);
  disk.close();
});

test("sheds no click of a crowded visitor's for one that will not fit", () => {
  const disk = openDisk(scratchDirectory(), { maxBytes: MIB });
  const visitor = stranger();
  disk.append(...Array.from({ length: 100 }, () => sample("click", visitor)));
  while (disk.append(sample("payment"))[0] === "queued" && disk.counts().byKind?.click.queued === 100);
  const click = sample("click", visitor);
  const large = { ...click, data: { ...click.data, userAgent: "a".repeat(100_000) } } as OutboxEvent;
  const before = disk.counts();

  const { results, dropped } = disk.store.run([{ type: "append", event: large }]);

  expect({ results, dropped }).toEqual({ results: ["full"], dropped: [] });
  expect(disk.counts()).toEqual(before);
  disk.close();
});

test("hands over thousands, some at a time, in order", async () => {
  const disk = openDisk(scratchDirectory());
  const visitors = Array.from({ length: 50 }, stranger);
  const kinds = ["payment", "click", "registration"] as const;
  const events = Array.from({ length: 1_500 }, (_, nth) =>
    sample(kinds[nth % 3] as "click", visitors[nth % visitors.length]),
  );
  disk.append(...events.map(forOld));
  let steps = 0;

  expect(await handOver(disk, () => steps++)).toBe(events.length);

  expect(steps).toBeGreaterThan(events.length / 200);
  expect(disk.counts().byDestination).toEqual({ [DESTINATION]: events.length });
  const went: string[] = [];
  for (let claims = disk.claim(64); claims.length > 0; claims = disk.claim(64)) {
    for (const claim of claims) {
      went.push(claim.event.data.clickId as string, claim.event.id);
      disk.settle(claim, { type: "delivered" });
    }
  }
  for (const { clickId } of visitors) {
    const theirs = went.filter((_, nth) => went[nth - 1] === clickId);
    expect(theirs).toEqual(events.filter(({ data }) => data.clickId === clickId).map(({ id }) => id));
  }
  expect(new Set(disk.append(...events))).toEqual(new Set(["duplicate"]));
  expect(disk.counts(OLD).queued).toBe(0);
  disk.close();
});

test("lets what is under way go where it was going, and hands it over later where it failed there", async () => {
  const directory = scratchDirectory();
  const [disk, old] = [openDisk(directory), openDisk(directory, { owner: "old", destination: OLD })];
  const visitor = stranger();
  const [underWay, waiting] = [sample("payment", visitor), sample("payment", visitor)];
  disk.append(forOld(underWay), forOld(waiting));
  const [claim] = old.claim(1) as [never];

  expect(await handOver(disk)).toBe(1);
  expect(disk.append(forOld(underWay))).toEqual(["duplicate"]);
  const [next] = disk.claim(10) as [never];
  expect(idsOf([next])).toEqual([waiting.id]);
  disk.settle(next, { type: "delivered" });
  old.settle(claim, retryIn(60_000));

  expect(await handOver(disk)).toBe(1);
  expect(idsOf(disk.claim(10))).toEqual([underWay.id]);
  expect(disk.append(underWay)).toEqual(["duplicate"]);
  disk.close();
  old.close();
});

test("loses nothing that another process stores or gives up while it is handed over, nor where it ends half-way", async () => {
  const directory = scratchDirectory();
  const [disk, old] = [openDisk(directory), openDisk(directory, { owner: "old", destination: OLD })];
  const events = Array.from({ length: 30 }, () => sample("payment"));
  const late: OutboxEvent[] = [];
  old.append(...events.map(forOld));
  const held = old.claim(30);
  const between = (step: number) => {
    const claim = held.shift();
    if (claim) old.settle(claim, step % 2 ? { type: "dead", reason: "rejected", attempts: 1 } : retryIn(0));
    const event = sample("payment");
    if (late.length >= 30) return;
    late.push(event);
    old.append(forOld(event));
    if (step % 7 === 6) throw new Error("killed");
  };

  for (let time = 0; time < 20; time++) await handOver(disk, between).catch(() => {});
  await handOver(disk);

  expect(held).toEqual([]);
  expect(disk.counts(OLD)).toMatchObject({ queued: 0, dead: { rejected: 0 } });
  const { queued, dead } = disk.counts(DESTINATION);
  expect(queued + dead.rejected).toBe(events.length + late.length);
  expect(new Set(disk.append(...events, ...late))).toEqual(new Set(["duplicate"]));
  disk.close();
  old.close();
});

test("hands nothing over to the destination that has it", async () => {
  const disk = openDisk(scratchDirectory());
  disk.append(sample("payment"));
  const run = async (request: Request) => disk.store.run([request]).results[0] as never;

  expect(await handOverThrough(run, DESTINATION, DESTINATION)).toBe(0);
  expect(disk.counts(DESTINATION).queued).toBe(1);
  disk.close();
});

test("forgets clicks after a day, and the oldest where there are more than ten thousand; payments as long as it was told", () => {
  let now = Date.now();
  const disk = openDisk(scratchDirectory(), { rememberMs: 30 * 24 * 3_600_000, time: () => now });
  const [click, payment] = [sample("click"), sample("payment")];
  const deliver = (...events: OutboxEvent[]) => {
    disk.append(...events);
    for (const claim of disk.claim(events.length)) disk.settle(claim, { type: "delivered" });
  };
  deliver(click, payment);
  disk.store.lookAfter();
  expect(disk.append(click, payment)).toEqual(["duplicate", "duplicate"]);

  now += 24 * 3_600_000 + 1;
  disk.store.lookAfter();
  expect(disk.append(click, payment)).toEqual(["queued", "duplicate"]);
  disk.settle(disk.claim(1)[0] as never, { type: "delivered" });
  // Without a look after the file: they may come faster than it is looked after.
  for (let sent = 0; sent < 11_200; sent += 200) {
    deliver(...Array.from({ length: 200 }, () => sample("click")));
  }
  expect(disk.append(click, payment)).toEqual(["queued", "duplicate"]);
  disk.close();
});
