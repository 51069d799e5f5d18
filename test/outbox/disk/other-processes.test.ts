import { copyFileSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOwnerLocks } from "../../../src/outbox/disk/file/owner-locks.js";
import { useOneCopy } from "../../../src/outbox/disk/file/sqlite.js";
import type { DiskClaim } from "../../../src/outbox/disk/store/calls.js";
import { LOOKS_WITHOUT_LOCK } from "../../../src/outbox/disk/store/owners.js";
import { createFileKeeper } from "../../../src/outbox/disk/thread/file-keeper.js";
import { personalEventOf } from "../../../src/outbox/personal-data.js";
import { sample, stranger } from "../../contract/samples.js";
import { DELIVERED, diskOf, disksOf, engine, idsOf, REJECTED } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

const HOUR_MS = 3_600_000;

/** The locks of two processes. */
function locks() {
  const directory = scratchDirectory();
  const lockOf = (owner: string) => createOwnerLocks(join(directory, "outbox.db"), { engine, owner });
  return { directory, one: lockOf("one"), other: lockOf("other") };
}

const locksOf = (directory: string) => readdirSync(directory).filter((name) => name.includes(".owner-"));

test("the disk outbox takes over what a process has claimed that has lost its lock and renews no lease", async () => {
  const [killed, other] = disksOf(["killed", "other"], { ended: new Set(["killed"]) });
  await killed.append(sample("payment"));
  await killed.claim(1);

  for (let look = 0; look < LOOKS_WITHOUT_LOCK; look++) await other.store.look();
  expect(await other.claim(1)).toEqual([]);
  await other.store.look();
  expect(await other.claim(1)).toMatchObject([{ interrupted: true }]);
});

test("the disk outbox leaves a process its claims that has lost its lock and renews its lease", async () => {
  let now = Date.now();
  const [alive, other] = disksOf(["alive", "other"], { ended: new Set(["alive"]), time: () => now });
  await alive.append(sample("payment"));
  await alive.claim(1);

  for (let look = 0; look < 10 * LOOKS_WITHOUT_LOCK; look++) {
    now += 500;
    await alive.store.look();
    await other.store.look();
  }
  expect(await other.claim(1)).toEqual([]);
});

test("a late delivery of an event that was retried into its visitor's other queue holds up no later one", async () => {
  const [one, other] = disksOf(["one", "other"], { ended: new Set(["one"]) });
  const visitor = stranger();
  const { clickId } = visitor;
  const retried = sample("payment", visitor);
  await one.append(retried);
  const [claim] = (await one.claim(1)) as [DiskClaim];
  for (let look = 0; look <= LOOKS_WITHOUT_LOCK; look++) await other.store.look();
  const [taken] = (await other.claim(1)) as [DiskClaim];
  await other.settle(taken, { type: "dead", reason: "unconfirmed", attempts: 1 });
  const click = sample("click", { clickId });
  await other.append(click);
  await other.calls.retry(retried.id);
  const [first] = (await other.claim(1)) as [DiskClaim];
  await other.settle(first, DELIVERED);
  const later = sample("payment", { clickId });
  await other.append(later);

  await one.settle(claim, DELIVERED);
  expect(idsOf(await other.claim(2))).toEqual([later.id]);
});

test("a process's next thread keeps the claims that its host knows, and gives back the rest untried", async () => {
  const directory = scratchDirectory();
  const before = diskOf({}, directory);
  await before.append(sample("payment"), sample("payment"));
  const [known, unknown] = (await before.claim(2)) as [DiskClaim, DiskClaim];
  const next = diskOf({ inherited: [known] }, directory);

  const claims = await next.claim(2);
  expect(claims).toMatchObject([{ event: { id: unknown.event.id }, interrupted: false }]);
  await next.settle(known, DELIVERED);
  expect((await next.counts()).queued).toBe(1);
});

test("what is under way stays its queue's head, even if an event with a lower number came later", async () => {
  const disk = diskOf();
  const visitor = stranger();
  const [late, underWay, erased] = [
    sample("payment", visitor),
    sample("payment", visitor),
    sample("payment", visitor),
  ];
  await disk.append(late, underWay, erased);
  // As if two processes had stored the first two at the same moment.
  disk.db.prepare("update queues set head = (select seq from events where id = ?)").run(underWay.id);
  const [claim] = (await disk.claim(1)) as [DiskClaim];

  await disk.calls.erase([personalEventOf(erased, "waiting")]);
  expect(await disk.claim(1)).toEqual([]);
  await disk.settle(claim, REJECTED);
  expect(idsOf(await disk.claim(2))).toEqual([late.id]);
});

test("the disk outbox ends no lease because the wall clock is set ahead", async () => {
  let [wall, monotonic] = [Date.now(), 0];
  const [one, other] = disksOf(["one", "other"], { time: () => wall, monotonic: () => monotonic });
  await one.append(sample("payment"));
  await one.claim(1);
  await other.store.look();

  wall += 24 * HOUR_MS;
  expect(await other.claim(1)).toEqual([]);
  await one.store.look();
  monotonic += 61_000;
  wall += 61_000;
  await one.store.look();
  expect(await other.claim(1)).toEqual([]);
});

test("the disk outbox has a lock that other processes can tell the end of, takes it anew if its file was removed, and leaves none behind", () => {
  const { directory, one, other } = locks();
  expect(other.hasEnded("one")).toBe(false);
  for (let time = 0; time < 2; time++) {
    one.acquire();
    one.acquire();
    expect(other.hasEnded("one")).toBe(false);
    if (time === 0) for (const name of locksOf(directory)) rmSync(join(directory, name));
  }
  other.acquire();
  other.removeEnded([]);
  expect(locksOf(directory)).toHaveLength(2);
  one.release();
  other.release();
  expect(locksOf(directory)).toEqual([]);
});

test("the disk outbox takes its lock anew if the directory was replaced by a copy of it", () => {
  const { directory, one, other } = locks();
  one.acquire();
  const [name] = locksOf(directory) as [string];
  const aside = scratchDirectory();
  renameSync(join(directory, name), join(aside, name));
  copyFileSync(join(aside, name), join(directory, name));
  expect(other.isGone("one")).toBe(true);
  one.acquire();
  expect(other.isGone("one")).toBe(false);
  one.release();
});

test("the disk outbox says once that a reader keeps SQLite's log from being emptied, and again after it was short", async () => {
  const directory = scratchDirectory();
  const path = join(directory, "outbox.db");
  const limits = { maxBytes: 2 ** 30, maxDeadLetters: 1_000, rememberMs: HOUR_MS, leaseMs: 20_000 };
  const keeper = createFileKeeper({ path, engine, owner: "one", ...limits });
  onTestFinished(() => keeper.close());
  const told = async () =>
    (await keeper.attempt((store) => store.look(true))).problems.map(({ code }) => code);
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
  expect(await told()).toEqual([]);
  growLog(5);
  expect(await told()).toEqual(["ERR_AFFILIATE_DISK_LOG"]);
  expect(await told()).toEqual([]);
  reader.exec("commit");
  expect(await told()).toEqual([]);
  db.exec("delete from filler");
  read();
  growLog(65);
  expect(await told()).toEqual(["ERR_AFFILIATE_DISK_LOG"]);
  reader.exec("commit");
});

test("the disk outbox refuses a file that this process uses with another copy of SQLite, through a link, too", () => {
  const [directory, link] = [join(scratchDirectory(), "not there yet"), join(scratchDirectory(), "link")];
  const uses = [1, 2].map((clientId) => useOneCopy(join(directory, "outbox.db"), "a", clientId));
  symlinkSync(directory, link);
  const copyOf = () => useOneCopy(join(link, "outbox.db"), "b", 3);
  expect(copyOf).toThrow(expect.objectContaining({ code: "ERR_AFFILIATE_DISK_COPIES" }));
  for (const use of uses) {
    expect(copyOf).toThrow("with another copy of SQLite");
    use.end();
  }
  copyOf().end();
});
