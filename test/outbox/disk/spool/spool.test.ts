import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { expect, onTestFinished, test } from "vitest";
import { createSpool } from "../../../../src/outbox/disk/spool/spool.js";
import { eventFromLine } from "../../../../src/outbox/disk/spool/spool-files.js";
import { largeSample, sample } from "../../../contract/samples.js";
import { someOf } from "../../../helpers/disk-store.js";
import { FakeClock } from "../../../helpers/fake-clock.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

const MIB = 1024 * 1024;

function setUp({ maxBytes = 64 * MIB } = {}) {
  const directory = scratchDirectory();
  const clock = new FakeClock();
  const told: (string | undefined)[] = [];
  const spool = createSpool(join(directory, "outbox.db"), {
    ...{ owner: "thread", maxBytes, clock },
    onTrouble: (error) => told.push(error && (error as Error & { code: string }).code),
  });
  spool.begin();
  onTestFinished(() => spool.close());
  const files = () => readdirSync(directory).sort();
  const path = (name = files()[0]) => join(directory, name as string);
  const eventsOf = (name?: string) =>
    readFileSync(path(name), "utf8")
      .split("\n")
      .flatMap((line) => eventFromLine(line) ?? []);
  return { directory, clock, told, spool, files, path, eventsOf };
}

test("the spool has an event in a file of this user's alone when it returns, and empties it when nothing waits, at most ten times a second", async () => {
  const { spool, path, clock, eventsOf } = setUp();
  const [first, second] = someOf("payment", 2) as [OutboxEvent, OutboxEvent];
  spool.add(first);
  spool.add(second);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(spool.isWhole).toBe(true);
  spool.remove(first);
  await clock.pass(1_000);
  expect(eventsOf()).toEqual([first, second]);

  spool.remove(second);
  expect(eventsOf()).toHaveLength(2);
  await clock.pass(100);
  expect(statSync(path()).size).toBe(0);
});

test("the spool writes all that waits into another file when its own was deleted", async () => {
  const { spool, path, eventsOf, directory, clock } = setUp();
  const [delivered, first, second] = someOf("payment", 3) as [OutboxEvent, OutboxEvent, OutboxEvent];
  spool.add(delivered);
  spool.add(first);
  spool.remove(delivered);
  rmSync(path());
  await clock.pass(100);
  spool.add(second);
  expect(eventsOf()).toEqual([first, second]);

  const third = sample("payment");
  rmSync(directory, { recursive: true });
  await clock.pass(100);
  spool.add(third);
  expect(eventsOf()).toEqual([first, second, third]);
});

test("the spool keeps the file short under a load in which something always waits", () => {
  const { spool, path, eventsOf, told } = setUp();
  let before = largeSample("registration", 20_000);
  spool.add(before);
  for (let nth = 0; nth < 500; nth++) {
    const next = largeSample("registration", 20_000);
    spool.add(next);
    spool.remove(before);
    before = next;
  }

  expect(statSync(path()).size).toBeLessThan(1.2 * MIB);
  expect(eventsOf()).toContainEqual(before);
  expect(told).toEqual([undefined]);
});

test("the spool writes no backlog that piled up while it failed: that would block the host", async () => {
  const { spool, directory, files, eventsOf, clock, told } = setUp();
  rmSync(directory, { recursive: true });
  writeFileSync(directory, "in its place");
  await clock.pass(100);
  const events = someOf("payment", 5_000);
  for (const event of events) spool.add(event);
  expect(told).toEqual([undefined, "ERR_AFFILIATE_DISK_UNUSABLE"]);
  rmSync(directory);
  await clock.pass(10_000);
  expect(spool.isWhole).toBe(false);

  const left = events.splice(-100);
  for (const event of events) spool.remove(event);
  await clock.pass(5_000);
  expect(spool.isWhole).toBe(true);
  expect(eventsOf(files()[0])).toEqual(left);
});

test("the spool rewrites a long file only once it has grown by another MiB", () => {
  const { spool, files } = setUp();
  for (let nth = 0; nth < 200; nth++) spool.add(largeSample("registration", 6_000));
  const long = files();
  for (let nth = 0; nth < 50; nth++) spool.add(largeSample("registration", 6_000));
  expect(files()).toEqual(long);
});

test("the spool says that it is full, and takes events again once few wait", async () => {
  const { spool, eventsOf, told, clock } = setUp({ maxBytes: 2_000 });
  const events = someOf("payment", 10);
  for (const event of events) spool.add(event);
  expect(spool.isWhole).toBe(false);
  expect(told).toEqual([undefined, "ERR_AFFILIATE_DISK_FULL"]);

  const [last, next] = [events.at(-1) as OutboxEvent, sample("payment")];
  for (const event of events) if (event !== last) spool.remove(event);
  await clock.pass(5_000);
  spool.add(next);
  expect(eventsOf()).toEqual([last, next]);
  expect(told.at(-1)).toBeUndefined();
  expect(spool.isWhole).toBe(true);
});

test("the spool never grows beyond what can be read as one text, however much it may hold", () => {
  const { spool, told, files, path } = setUp({ maxBytes: 2 ** 40 });
  spool.add(largeSample("registration", 256 * MIB));
  expect(told).toEqual([undefined, "ERR_AFFILIATE_DISK_FULL"]);
  expect(files()).toHaveLength(1);
  expect(statSync(path()).size).toBeLessThan(100);
});
