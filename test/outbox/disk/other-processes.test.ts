import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFileKeeper } from "../../../src/outbox/disk/file-keeper.js";
import { useOneCopy } from "../../../src/outbox/disk/one-copy.js";
import { createOwnerLocks } from "../../../src/outbox/disk/owner-locks.js";
import type { DiskClaim } from "../../../src/outbox/disk/protocol.js";
import { LOOKS, LOOKS_WITHOUT_LOCK } from "../../../src/outbox/disk/upkeep.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { type Disk, engine, openDisk } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

const HOUR_MS = 3_600_000;

function open(directory: string, options: Parameters<typeof openDisk>[1] = {}): Disk {
  const disk = openDisk(directory, options);
  onTestFinished(() => disk.close());
  return disk;
}

function deliverOne(disk: Disk) {
  const event = sample("payment");
  disk.append(event);
  disk.settle(disk.claim(1)[0] as DiskClaim, { type: "delivered" });
  return event;
}

const locksOf = (directory: string) => readdirSync(directory).filter((name) => name.includes(".owner-"));

test("takes over what a process has claimed that has lost its lock and shows no heartbeat", () => {
  const directory = scratchDirectory();
  const killed = open(directory, { owner: "killed" });
  const other = open(directory, { owner: "other", ended: new Set(["killed"]) });
  killed.append(sample("payment"));
  killed.claim(1);

  for (let look = 0; look < LOOKS_WITHOUT_LOCK; look++) other.store.lookForKilled();
  expect(other.claim(1)).toEqual([]);
  other.store.lookForKilled();
  expect(other.claim(1)).toMatchObject([{ interrupted: true }]);
});

test("leaves a process its claims that has lost its lock and shows heartbeats", () => {
  const directory = scratchDirectory();
  const alive = open(directory, { owner: "alive" });
  const other = open(directory, { owner: "other", ended: new Set(["alive"]) });
  alive.append(sample("payment"));
  alive.claim(1);

  for (let look = 0; look < 5 * LOOKS; look++) {
    alive.store.lookForKilled();
    other.store.lookForKilled();
  }
  expect(other.claim(1)).toEqual([]);
});

test.each([
  { own: 2_000, others: 20_000 },
  { own: 20_000, others: 2_000 },
])("goes by the longer of two leases: $own ms and $others ms", ({ own, others }) => {
  const directory = scratchDirectory();
  const silent = open(directory, { owner: "silent", leaseMs: others });
  const other = open(directory, { owner: "other", leaseMs: own });
  silent.append(sample("payment"));
  silent.claim(1);

  const looks = (LOOKS * Math.max(own, others)) / own;
  for (let look = 0; look < looks; look++) other.store.lookAfter();
  expect(other.claim(1)).toEqual([]);
  other.store.lookAfter();
  expect(other.claim(1)).toHaveLength(1);
});

test("forgets no delivered id while the wall clock is ahead, and forgets it when its time is over", () => {
  let [wall, monotonic] = [1_000_000 * HOUR_MS, 0];
  const clocks = { time: () => wall, monotonic: () => monotonic };
  const disk = open(scratchDirectory(), { rememberMs: HOUR_MS, ...clocks });
  const event = deliverOne(disk);

  const pass = (ms: number, seen = ms) => {
    wall += seen;
    monotonic += ms;
    disk.store.lookAfter();
  };
  pass(8_000, 31 * 24 * HOUR_MS);
  pass(8_000);
  pass(8_000, -31 * 24 * HOUR_MS);
  pass(HOUR_MS - 60_000);
  expect(disk.append(event)).toEqual(["duplicate"]);
  pass(60_000);
  expect(disk.append(event)).toEqual(["queued"]);
});

test("counts the time of several processes on one file once", () => {
  let now = 1_000_000 * HOUR_MS;
  const directory = scratchDirectory();
  const both = ["one", "other"].map((owner) =>
    open(directory, { owner, rememberMs: HOUR_MS, time: () => now }),
  ) as [Disk, Disk];
  const event = deliverOne(both[0]);

  for (let minute = 0; minute < 59; minute++) {
    now += 60_000;
    for (const disk of both) deliverOne(disk);
  }
  for (const disk of both) disk.store.lookAfter();
  expect(both[0].append(event)).toEqual(["duplicate"]);
  now += 120_000;
  for (const disk of both) deliverOne(disk);
  both[1].store.lookAfter();
  expect(both[0].append(event)).toEqual(["queued"]);
});

test("lets no event rest longer because the clock was ahead and is set back", () => {
  let now = 1_000_000 * HOUR_MS;
  const disk = open(scratchDirectory(), { time: () => now });
  const retry = (inMs: number) =>
    disk.settle(disk.claim(1)[0] as DiskClaim, {
      type: "retry",
      inMs,
      history: { attempts: 1, failures: 1, refusals: 0, throttled: false, maybeTaken: false, triedAt: now },
    });
  disk.append(sample("payment"));
  retry(60_000);
  now += 5 * HOUR_MS;
  disk.append(sample("payment"));
  retry(60_000);
  now -= 5 * HOUR_MS;

  disk.store.lookAfter();
  now += 62_000;
  expect(disk.claim(10)).toHaveLength(2);
});

test("has a lock that other processes can tell the end of, and leaves none behind", () => {
  const path = join(scratchDirectory(), "outbox.db");
  const [one, other] = ["one", "other"].map((owner) => createOwnerLocks(path, { engine, owner })) as [
    ReturnType<typeof createOwnerLocks>,
    ReturnType<typeof createOwnerLocks>,
  ];
  expect(other.hasEnded("one")).toBe(false);
  one.acquire();
  one.acquire();
  expect(other.hasEnded("one")).toBe(false);
  other.acquire();
  other.removeEnded([]);
  expect(locksOf(join(path, ".."))).toHaveLength(2);
  one.release();
  other.release();
  expect(locksOf(join(path, ".."))).toEqual([]);
});

test("takes its lock anew where its file was removed", () => {
  const directory = scratchDirectory();
  const path = join(directory, "outbox.db");
  const [one, other] = ["one", "other"].map((owner) => createOwnerLocks(path, { engine, owner })) as [
    ReturnType<typeof createOwnerLocks>,
    ReturnType<typeof createOwnerLocks>,
  ];
  one.acquire();
  for (const name of locksOf(directory)) rmSync(join(directory, name));
  one.acquire();
  expect(locksOf(directory)).toHaveLength(1);
  expect(other.hasEnded("one")).toBe(false);
  one.release();
});

test("says once that a reader keeps SQLite's log from being emptied, and again after it was short", () => {
  const directory = scratchDirectory();
  const path = join(directory, "outbox.db");
  const limits = { maxBytes: 2 ** 30, maxDeadLetters: 1_000, rememberMs: HOUR_MS, leaseMs: 20_000 };
  const keeper = createFileKeeper({ path, engine, owner: "one", ...limits });
  onTestFinished(() => keeper.close());
  const told = () => keeper.attempt((store) => store.lookAfter()).problems.map(({ code }) => code);
  const { db } = open(directory, { owner: "other", maxBytes: 2 ** 30 });
  const reader = open(directory, { owner: "reader" }).db;
  db.exec("create table filler (a text) strict");
  const growLog = (mib: number) => {
    for (let nth = 0; nth < mib; nth++) db.exec("insert into filler values (hex(zeroblob(524288)))");
  };
  const read = () => {
    reader.exec("begin");
    reader.prepare("select count(*) from events").get();
  };

  read();
  growLog(60);
  expect(told()).toEqual([]);
  growLog(5);
  expect(told()).toEqual(["ERR_AFFILIATE_DISK_LOG"]);
  expect(told()).toEqual([]);
  reader.exec("commit");
  expect(told()).toEqual([]);
  db.exec("delete from filler");
  read();
  growLog(65);
  expect(told()).toEqual(["ERR_AFFILIATE_DISK_LOG"]);
  reader.exec("commit");
});

test("refuses a file that this process uses with another copy of SQLite", () => {
  const path = join(scratchDirectory(), "outbox.db");
  const ends = [useOneCopy(path, "a"), useOneCopy(path, "a")];
  const copyOf = () => useOneCopy(path, "b");
  expect(copyOf).toThrow(expect.objectContaining({ code: "ERR_AFFILIATE_DISK_COPIES" }));
  for (const end of ends) {
    expect(copyOf).toThrow("with another copy of SQLite");
    end();
  }
  copyOf()();
});
