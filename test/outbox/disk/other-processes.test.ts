import { copyFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createOwnerLocks } from "../../../src/outbox/disk/file/owner-locks.js";
import { useOneCopy } from "../../../src/outbox/disk/file/sqlite.js";
import type { DiskClaim } from "../../../src/outbox/disk/store/calls.js";
import { LOOKS_WITHOUT_LOCK } from "../../../src/outbox/disk/store/owners.js";
import { UNTRIED, type Verdict } from "../../../src/outbox/outbox.js";
import { personalEventOf } from "../../../src/outbox/personal-data.js";
import { sample, stranger } from "../../contract/samples.js";
import { capacityOf } from "../../helpers/deliver.js";
import { appending, DELIVERED, diskOf, disksOf, engine, idsOf, REJECTED } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

const HOUR_MS = 3_600_000;

/** The locks of two processes. */
function locks() {
  const directory = scratchDirectory();
  const lockOf = (owner: string) => createOwnerLocks(join(directory, "outbox.db"), { engine, owner });
  return { directory, one: lockOf("one"), other: lockOf("other") };
}

const locksOf = (directory: string) => readdirSync(directory).filter((name) => name.includes(".owner-"));

test.each([
  { what: "takes over from", renews: false, looks: LOOKS_WITHOUT_LOCK },
  { what: "leaves its claims to", renews: true, looks: 10 * LOOKS_WITHOUT_LOCK },
])(
  "the disk outbox $what a process that has lost its lock, if it renews its lease: $renews",
  async ({ renews, looks }) => {
    let now = Date.now();
    const [one, other] = disksOf(["one", "other"], { ended: new Set(["one"]), time: () => now });
    await one.append(sample("payment"));
    await one.claim(1);

    for (let look = 0; look < looks; look++) {
      now += 500;
      if (renews) await one.store.look();
      await other.store.look();
    }
    expect(await other.claim(1)).toEqual([]);
    await other.store.look();
    expect(await other.claim(1)).toMatchObject(renews ? [] : [{ interrupted: true }]);
  },
);

test("a retried dead letter counts as maybe taken if a process ended during an attempt at it", async () => {
  let now = Date.now();
  const [one, other] = disksOf(["one", "other"], { time: () => now, leaseMs: 1_000 });
  await one.append(sample("registration"));
  await one.claim(1);
  now += 1_001;
  const [left] = (await other.claim(1)) as [DiskClaim];
  expect(left.interrupted).toBe(true);
  await other.settle(left, REJECTED);

  await other.calls.retryAll();
  expect(await other.claim(1)).toMatchObject([{ interrupted: false, history: { maybeTaken: true } }]);
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

test("a verdict of a claim that another process took over ends no later claim of the same event", async () => {
  let now = Date.now();
  const [one, other] = disksOf(["one", "other"], { ended: new Set(["one"]), time: () => now });
  await one.append(sample("registration"));
  const [lost] = (await one.claim(1)) as [DiskClaim];
  for (let look = 0; look <= LOOKS_WITHOUT_LOCK; look++, now += 500) await other.store.look();
  const [taken] = (await other.claim(1)) as [DiskClaim];
  const retried: Verdict = { type: "retry", inMs: 0, history: UNTRIED };
  await other.settle(taken, retried);
  const [anew] = (await one.claim(1)) as [DiskClaim];

  for (const verdict of [retried, { type: "release" }, REJECTED] satisfies Verdict[]) {
    await one.settle(lost, verdict);
    expect(await other.claim(1)).toEqual([]);
    expect((await one.counts()).queued).toBe(1);
  }
  await one.settle(anew, REJECTED);
  expect((await one.counts()).queued).toBe(0);
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

test("a process keeps its claims even if each of its threads ends before its first look", async () => {
  const directory = scratchDirectory();
  let now = Date.now();
  const open = (owner: string, inherited?: DiskClaim[]) =>
    diskOf({ owner, ended: new Set(["one"]), time: () => now, inherited }, directory);
  const [one, other] = [open("one"), open("other")];
  await one.append(sample("payment"));
  const claims = await one.claim(1);
  for (let look = 1; look < 10 * LOOKS_WITHOUT_LOCK; look++) {
    now += 500;
    await other.store.look();
    if (look % LOOKS_WITHOUT_LOCK === 0) await open("one", claims).run();
  }
  expect(await other.claim(1)).toEqual([]);
});

test("a host trusts a claim since the transaction began, however long the thread counted in it", async () => {
  let now = Date.now();
  const onStatement = (text: string) => {
    if (text.includes("count(*) as number")) now += 5_000;
  };
  const disk = diskOf({ time: () => now, onStatement });
  const began = now;
  const event = sample("payment");
  const { leases } = await disk.run(appending(event), { name: "claim", args: [capacityOf(1)] });
  expect(leases).toEqual(new Map([[event.id, { wall: began, monotonic: began }]]));
});

test("what is under way stays its queue's head, even if an event with a lower number came later", async () => {
  const disk = diskOf();
  const visitor = stranger();
  const [late, underWay] = [sample("payment", visitor), sample("payment", visitor)];
  const erased = sample("payment", visitor);
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

test("the disk outbox has a lock that other processes can tell the end of, takes it anew if its file was removed or replaced, and leaves none behind", () => {
  const { directory, one, other } = locks();
  const replaced = (name: string) => {
    const aside = join(scratchDirectory(), "aside");
    renameSync(join(directory, name), aside);
    copyFileSync(aside, join(directory, name));
  };
  expect(other.stateOf("one")).toBe("unlocked");
  for (const lose of [(name: string) => rmSync(join(directory, name)), replaced]) {
    one.acquire();
    one.acquire();
    expect(other.stateOf("one")).toBe("running");
    lose(locksOf(directory)[0] as string);
    expect(other.stateOf("one")).not.toBe("running");
  }
  one.acquire();
  other.acquire();
  other.removeEnded([]);
  expect(other.stateOf("one")).toBe("running");
  expect(locksOf(directory)).toHaveLength(2);
  one.release();
  other.release();
  expect(locksOf(directory)).toEqual([]);
});

test("the disk outbox empties SQLite's log, which still has customers' addresses, once nothing is written", async () => {
  const directory = scratchDirectory();
  const disk = diskOf({}, directory);
  const logBytes = () => statSync(join(directory, "outbox.db-wal")).size;
  await disk.append(sample("payment"));
  expect(logBytes()).toBeGreaterThan(0);

  for (let look = 0; look < 3; look++) await disk.store.look(true);

  expect(logBytes()).toBe(0);
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
