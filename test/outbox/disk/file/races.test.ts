import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { expect, test, vi } from "vitest";
import { setAside } from "../../../../src/outbox/disk/file/file.js";
import { createOwnerLocks } from "../../../../src/outbox/disk/file/owner-locks.js";
import { sample } from "../../../contract/samples.js";
import { type Disk, diskOf, engine, openDisk } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

/** Each is called once: before the next lock or removal, and after the next call of the file system. */
const { beforeLock, beforeRemoval, afterCall } = vi.hoisted(() => ({
  beforeLock: [] as (() => void)[],
  beforeRemoval: [] as (() => void)[],
  afterCall: { lstatSync: [] as (() => void)[], renameSync: [] as (() => void)[] },
}));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const hooked = (name: "lstatSync" | "renameSync") => (path: never, to: never) => {
    const result = fs[name](path, to);
    afterCall[name].shift()?.();
    return result;
  };
  const rmSync: typeof fs.rmSync = (path, options) => {
    beforeRemoval.shift()?.();
    fs.rmSync(path, options);
  };
  return { ...fs, rmSync, lstatSync: hooked("lstatSync"), renameSync: hooked("renameSync") };
});

vi.mock("../../../../src/outbox/disk/file/sqlite.js", async (original) => {
  const sqlite = await original<typeof import("../../../../src/outbox/disk/file/sqlite.js")>();
  const whenFree: typeof sqlite.whenFree = (attempt, waitMs) => {
    beforeLock.shift()?.();
    return sqlite.whenFree(attempt, waitMs);
  };
  return { ...sqlite, whenFree };
});

test("the disk outbox keeps its lock file if another process removes it before it is locked", () => {
  const path = join(scratchDirectory(), "outbox.db");
  const [one, other] = ["one", "other"].map((owner) => createOwnerLocks(path, { engine, owner }));
  beforeLock.push(() => other?.removeEnded([]));
  one?.acquire();

  expect(existsSync(`${path}.owner-one`)).toBe(true);
  expect(other?.stateOf("one")).toBe("running");
  one?.release();
  expect(existsSync(`${path}.owner-one`)).toBe(false);
});

test("the disk outbox removes a lock's file after closing it on a system that removes no open file", () => {
  const path = join(scratchDirectory(), "outbox.db");
  const own = createOwnerLocks(path, { engine, owner: "own" });
  const isOpen = () => {
    throw Object.assign(new Error("EBUSY"), { code: "EBUSY" });
  };
  writeFileSync(`${path}.owner-ended`, "");
  beforeRemoval.push(isOpen);
  own.removeEnded([]);
  expect(existsSync(`${path}.owner-ended`)).toBe(false);

  own.acquire();
  beforeRemoval.push(isOpen);
  own.release();
  expect(existsSync(`${path}.owner-own`)).toBe(false);
});

test("the disk outbox leaves the log alone of a file that another process makes at the same moment", async () => {
  const directory = scratchDirectory();
  const [first, second] = [sample("payment"), sample("payment")];
  const storing: Promise<unknown>[] = [];
  const other = (event: OutboxEvent) => () =>
    storing.push(diskOf({ owner: event.id }, directory).append(event));
  afterCall.lstatSync.push(other(first));
  const one = diskOf({ owner: "one" }, directory);
  expect(await storing[0]).toEqual(["queued"]);
  expect(await one.append(first)).toEqual(["duplicate"]);
  expect((await diskOf({ owner: "third" }, directory).counts()).queued).toBe(1);

  // As if it were damaged.
  afterCall.renameSync.push(other(second));
  const aside = setAside(one.path);
  expect(await storing[1]).toEqual(["queued"]);
  expect(await diskOf({ owner: "fourth" }, directory).append(second)).toEqual(["duplicate"]);
  expect(existsSync(`${aside}-wal`)).toBe(true);
});

test.each([1, 2])("the disk outbox opens a file that comes meanwhile, by %d hosts", async (hosts) => {
  const [backup, directory, payment] = [openDisk(scratchDirectory()), scratchDirectory(), sample("payment")];
  await backup.append(payment);
  backup.db.exec("pragma wal_checkpoint(truncate)");
  backup.close();
  const others: Disk[] = [];
  beforeLock.push(() => {
    renameSync(backup.path, join(directory, "outbox.db"));
    if (hosts === 2) others.push(diskOf({ owner: "other" }, directory));
  });
  expect(await diskOf({ owner: "one" }, directory).append(payment)).toEqual(["duplicate"]);
  await others[0]?.append(sample("payment"));
  expect((await diskOf({ owner: "third" }, directory).counts()).queued).toBe(hosts);
});
