import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { diskOutbox } from "../../../src/outbox/disk/disk-outbox.js";
import { openExistingFile, openFile } from "../../../src/outbox/disk/file/file.js";
import { findEngine } from "../../../src/outbox/disk/file/sqlite.js";
import { type Claim, UNTRIED, type Verdict } from "../../../src/outbox/outbox.js";
import { largeSample, sample } from "../../contract/samples.js";
import { until } from "../../contract/stage.js";
import { DELIVERED, engine, openDisk, REJECTED, settleAll, someOf } from "../../helpers/disk-store.js";
import { removeAtOnce, scratchDirectory } from "../../helpers/scratch.js";
import { watched } from "../../helpers/watched-outbox.js";
import { withResolvers } from "../../helpers/with-resolvers.js";

const isRoot = process.getuid?.() === 0;
const MIB = 1024 * 1024;

function expectError(attempt: () => unknown, code: string, words: string | RegExp): void {
  const message = expect.stringMatching(words);
  expect(attempt).toThrow(expect.objectContaining({ code: `ERR_AFFILIATE_DISK_${code}`, message }));
}

test("the disk outbox says at the start which package to install if Node has no SQLite", () => {
  const find = () => findEngine(["/nowhere/any.js"], false);

  expectError(find, "ENGINE", "npm install @photostructure/sqlite");
});

test("the disk outbox refuses a lease of more than an hour", () => {
  const options = { directory: scratchDirectory(), leaseMs: 1e10 };
  expect(() => diskOutbox(options)).toThrow(/`leaseMs` must be .* at most 3,600,000/);
});

test("the disk outbox says at the start that a later version of the package has written the file", () => {
  const directory = scratchDirectory();
  const disk = openDisk(directory);
  disk.db.exec("pragma user_version = 99");
  disk.close();

  expectError(() => diskOutbox({ directory }).counts(), "NEWER", "99");
});

test.each([openFile, openExistingFile])(
  "the disk outbox lets one process alone have the file if SQLite is too old to share it: %o",
  (open) => {
    const path = join(scratchDirectory(), "outbox.db");
    const old = { engine, maxBytes: MIB, shareableFrom: "99.0.0", waitMs: 50 };
    const first = openFile(path, old);

    expectError(() => open(path, old), "IN_USE", /another process uses .* update Node/s);
    first.close();
  },
);

test("the disk outbox goes on in memory if the file cannot be written any more, says so, and stores it when it can", async () => {
  const directory = join(scratchDirectory(), "outbox");
  const { outbox, codes, delivered, start } = watched({ directory });
  start();
  removeAtOnce(directory, "in its place");

  const click = sample("click");
  const payment = sample("payment", click.data);
  expect(await outbox.add(click)).toBe("in-memory");
  expect(await outbox.add(payment)).toBe("in-memory");
  expect(outbox.durable).toBe(false);
  expect(outbox.counts()).toMatchObject({ queued: 2, trouble: expect.stringContaining("cannot be written") });
  await expect(outbox.deadLetters.list()).rejects.toMatchObject({ code: "ERR_AFFILIATE_DISK_UNUSABLE" });

  rmSync(directory);
  await until(() => delivered.length === 2, "nothing was delivered");
  expect(delivered).toEqual([click.id, payment.id]);
  // The file was lost with its directory: that is said, too.
  expect(codes()).toEqual([
    "ERR_AFFILIATE_DISK_UNUSABLE",
    "ERR_AFFILIATE_DISK_REPLACED",
    "recovered",
    "recovered",
  ]);
  expect(outbox.durable).toBe(true);
  expect(outbox.counts().trouble).toBeUndefined();
});

test.skipIf(!isRoot)(
  "the disk outbox survives a full disk: what was delivered is remembered, what comes waits in memory",
  async () => {
    const directory = smallDisk();
    const answer = withResolvers<Verdict>();
    const { outbox, codes, handed, delivered, start } = watched({ directory }, () => answer.promise);
    start();
    const first = sample("payment");
    await outbox.add(first);
    await until(() => handed.length === 1, "nothing was handed over");

    fillUp(directory);
    const added = [];
    const outcomes: string[] = [];
    while (outcomes.filter((outcome) => outcome === "in-memory").length < 3 && added.length < 10_000) {
      const event = sample("payment");
      added.push(event.id);
      outcomes.push(await outbox.add(event));
    }
    expect(outcomes).toContain("in-memory");
    answer.resolve(DELIVERED);
    await until(() => delivered.includes(first.id), "nothing was delivered");
    expect(codes()).toEqual(["ERR_AFFILIATE_DISK_FULL"]);
    expect(outbox.counts().trouble).toContain("no space is left");

    rmSync(join(directory, "filler"));
    await until(() => delivered.length === added.length + 1, "not all was delivered");
    expect(codes()).toEqual(["ERR_AFFILIATE_DISK_FULL", "recovered"]);
    expect([...delivered].sort()).toEqual([first.id, ...added].sort());
    expect(await outbox.add(first)).toBe("duplicate");
  },
);

test.skipIf(!isRoot)(
  "the disk outbox starts on a full disk, says that it is full, and stores what it has once there is space",
  async () => {
    const directory = smallDisk();
    fillUp(directory);
    const { outbox, codes, delivered, start } = watched({ directory, leaseMs: 2_000 });
    start();
    const event = sample("payment");

    expect(await outbox.add(event)).toBe("in-memory");
    expect(outbox.durable).toBe(false);
    expect(codes()).toEqual(["ERR_AFFILIATE_DISK_FULL"]);
    const trouble = expect.stringContaining("no space is left");
    expect(outbox.counts()).toMatchObject({ queued: 1, trouble });

    rmSync(join(directory, "filler"));
    await until(() => delivered.length === 1, "nothing was delivered");
    await until(() => codes().includes("recovered"), "it did not say that it works again");
    expect(codes()).toEqual(["ERR_AFFILIATE_DISK_FULL", "recovered"]);
    expect(outbox.durable).toBe(true);
  },
);

function smallDisk(): string {
  const directory = scratchDirectory();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", directory]);
  onTestFinished(() => void execFileSync("umount", ["-l", directory]));
  return directory;
}

function fillUp(directory: string): void {
  for (let size = 256 * 1024; size >= 512; size /= 2) {
    try {
      for (;;) writeFileSync(join(directory, "filler"), Buffer.alloc(size), { flag: "a" });
    } catch {
      // Smaller pieces may still fit.
    }
  }
}

test("the disk outbox delivers what it has if `maxBytes` is lower than what its file already has", async () => {
  const directory = scratchDirectory();
  const large = openDisk(directory);
  for (let nth = 0; nth < 6; nth++)
    expect(await large.append(...someOf("payment", 500))).not.toContain("full");
  large.close();

  const small = openDisk(directory, { maxBytes: MIB });
  expect(await small.append(sample("payment"))).toEqual(["full"]);
  expect(await settleAll(small, DELIVERED)).toEqual([]);
  expect((await small.counts()).queued).toBe(0);
  expect(await small.append(sample("payment"))).toEqual(["queued"]);
  small.close();
});

test("the disk outbox goes on if its file is full before its bounds are reached: they are estimates", async () => {
  const verdicts: Verdict[] = [DELIVERED, REJECTED, { type: "retry", inMs: 600_000, history: UNTRIED }];
  let nth = 0;
  const { outbox, codes, start } = watched({ maxBytes: MIB }, () => verdicts[nth++ % 3] as Verdict);
  start();
  for (let round = 0; round < 100 && !codes().includes("ERR_AFFILIATE_DISK_FULL"); round++) {
    // A click has two addresses of up to 2,048 characters.
    const events = Array.from({ length: 20 }, () => largeSample("click", 300 + 200 * (round % 20)));
    await Promise.all(events.map((event) => outbox.add(event)));
  }
  expect(codes()).toContain("ERR_AFFILIATE_DISK_FULL");
  await until(() => codes().includes("recovered"), "it did not say that it works again");
  expect(await outbox.add(sample("payment"))).toBe("queued");
});

test("the disk outbox holds an event for as long as its attempt lasts, as its thread renews the lease", async () => {
  const { promise: handed, resolve } = withResolvers<Claim>();
  const { promise: ended, resolve: end } = withResolvers<Verdict>();
  const { outbox, start } = watched({ leaseMs: 1_000 }, (claim) => {
    resolve(claim);
    return ended;
  });
  start();
  await outbox.add(sample("payment"));
  const claim = await handed;
  const began = performance.now();

  await until(() => performance.now() - began > 1_200 && claim.isLeased?.() === true, "it was not leased");
  end(DELIVERED);
});
