import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOwnerLocks } from "../../../src/outbox/disk/file/owner-locks.js";
import { useOneCopy } from "../../../src/outbox/disk/file/sqlite.js";
import { LOOKS } from "../../../src/outbox/disk/queue/lease-epoch.js";
import { LOOKS_WITHOUT_LOCK } from "../../../src/outbox/disk/queue/upkeep.js";
import { createFileKeeper } from "../../../src/outbox/disk/thread/file-keeper.js";
import { sample } from "../../contract/samples.js";
import { DELIVERED, type Disk, diskOf, disksOf, engine, settleAll } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

const HOUR_MS = 3_600_000;

function deliverOne(disk: Disk) {
  const event = sample("payment");
  disk.append(event);
  settleAll(disk, DELIVERED);
  return event;
}

/** The locks of two processes. */
function locks() {
  const directory = scratchDirectory();
  const lockOf = (owner: string) => createOwnerLocks(join(directory, "outbox.db"), { engine, owner });
  return { directory, one: lockOf("one"), other: lockOf("other") };
}

const locksOf = (directory: string) => readdirSync(directory).filter((name) => name.includes(".owner-"));

test("the disk outbox takes over what a process has claimed that has lost its lock and shows no heartbeat", () => {
  const [killed, other] = disksOf(["killed", "other"], { ended: new Set(["killed"]) });
  killed.append(sample("payment"));
  killed.claim(1);

  for (let look = 0; look < LOOKS_WITHOUT_LOCK; look++) other.store.lookForKilled();
  expect(other.claim(1)).toEqual([]);
  other.store.lookForKilled();
  expect(other.claim(1)).toMatchObject([{ interrupted: true }]);
});

test("the disk outbox leaves a process its claims that has lost its lock and shows heartbeats", () => {
  const [alive, other] = disksOf(["alive", "other"], { ended: new Set(["alive"]) });
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
])("the disk outbox goes by the longer of two leases: $own ms and $others ms", ({ own, others }) => {
  const directory = scratchDirectory();
  const silent = diskOf({ owner: "silent", leaseMs: others }, directory);
  const other = diskOf({ owner: "other", leaseMs: own }, directory);
  silent.append(sample("payment"));
  silent.claim(1);

  const looks = (LOOKS * Math.max(own, others)) / own;
  for (let look = 0; look < looks; look++) other.store.lookAfter();
  expect(other.claim(1)).toEqual([]);
  other.store.lookAfter();
  expect(other.claim(1)).toHaveLength(1);
});

test("the disk outbox forgets no delivered id while the wall clock is ahead, and forgets it when its time is over", () => {
  let [wall, monotonic] = [1_000_000 * HOUR_MS, 0];
  const clocks = { time: () => wall, monotonic: () => monotonic };
  const disk = diskOf({ rememberMs: HOUR_MS, ...clocks });
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

test("the disk outbox counts the time of several processes on one file once", () => {
  let now = 1_000_000 * HOUR_MS;
  const both = disksOf(["one", "other"], { rememberMs: HOUR_MS, time: () => now });
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

test("the disk outbox has a lock that other processes can tell the end of, and leaves none behind", () => {
  const { directory, one, other } = locks();
  expect(other.hasEnded("one")).toBe(false);
  one.acquire();
  one.acquire();
  expect(other.hasEnded("one")).toBe(false);
  other.acquire();
  other.removeEnded([]);
  expect(locksOf(directory)).toHaveLength(2);
  one.release();
  other.release();
  expect(locksOf(directory)).toEqual([]);
});

test("the disk outbox takes its lock anew if its file was removed", () => {
  const { directory, one, other } = locks();
  one.acquire();
  for (const name of locksOf(directory)) rmSync(join(directory, name));
  one.acquire();
  expect(locksOf(directory)).toHaveLength(1);
  expect(other.hasEnded("one")).toBe(false);
  one.release();
});

test("the disk outbox says once that a reader keeps SQLite's log from being emptied, and again after it was short", () => {
  const directory = scratchDirectory();
  const path = join(directory, "outbox.db");
  const limits = { maxBytes: 2 ** 30, maxDeadLetters: 1_000, rememberMs: HOUR_MS, leaseMs: 20_000 };
  const keeper = createFileKeeper({ path, engine, owner: "one", ...limits });
  onTestFinished(() => keeper.close());
  const told = () => keeper.attempt((store) => store.lookAfter()).problems.map(({ code }) => code);
  const { db } = diskOf({ owner: "other", maxBytes: 2 ** 30 }, directory);
  const reader = diskOf({ owner: "reader" }, directory).db;
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

test("the disk outbox refuses a file that this process uses with another copy of SQLite", () => {
  const path = join(scratchDirectory(), "outbox.db");
  const uses = [useOneCopy(path, "a"), useOneCopy(path, "a")];
  const copyOf = () => useOneCopy(path, "b");
  expect(copyOf).toThrow(expect.objectContaining({ code: "ERR_AFFILIATE_DISK_COPIES" }));
  for (const use of uses) {
    expect(copyOf).toThrow("with another copy of SQLite");
    use.end();
  }
  copyOf().end();
});
