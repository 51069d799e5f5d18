import { copyFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { expect, onTestFinished, test } from "vitest";
import { dueIn } from "../../../../src/outbox/counts.js";
import type { DiskClaim } from "../../../../src/outbox/disk/store/calls.js";
import { LOOKS_WITHOUT_LOCK } from "../../../../src/outbox/disk/store/owners.js";
import { createFileKeeper } from "../../../../src/outbox/disk/thread/file-keeper.js";
import { UNTRIED, type Verdict } from "../../../../src/outbox/outbox.js";
import { DONE } from "../../../../src/outbox/queue/rows.js";
import { clicksOf } from "../../../contract/clicks.js";
import { DESTINATION, LONG_MS, sample, scheduledSample, stranger } from "../../../contract/samples.js";
import { until } from "../../../contract/stage.js";
import {
  appending,
  DELIVERED,
  type Disk,
  diskOf,
  disksOf,
  engine,
  openDisk,
  overwrite,
  REJECTED,
  settleAll,
  someOf,
} from "../../../helpers/disk-store.js";
import { removeAtOnce, scratchDirectory } from "../../../helpers/scratch.js";
import { watched } from "../../../helpers/watched-outbox.js";

test.each([
  { what: "the directory", remove: (directory: string) => removeAtOnce(directory) },
  { what: "the file, and not its log,", remove: (directory: string) => rmSync(join(directory, "outbox.db")) },
])("the disk outbox loses nothing if $what is deleted under it, and says so", async ({ remove }) => {
  const visitor = stranger();
  const [delivered, dead] = [sample("payment"), sample("registration")];
  const [click, payment] = [sample("click", visitor), sample("payment", visitor)];
  let hold = false;
  const { directory, outbox, said, handed, settled, start } = watched({}, ({ event: { id } }) => {
    if (hold) return { type: "retry", inMs: 3_000, history: UNTRIED };
    return id === dead.id ? REJECTED : DELIVERED;
  });
  start();
  await outbox.add(delivered);
  await outbox.add(dead);
  await until(() => outbox.counts().dead.rejected === 1, "it was not given up");
  await until(() => outbox.counts().queued === 0, "it was not settled");
  hold = true;
  await outbox.add(click);
  await outbox.add(payment);
  await until(() => settled.some(([, type]) => type === "retry"), "its verdict was not stored");
  hold = false;

  remove(directory);
  const late = sample("payment");
  expect(await outbox.add(late)).toBe("queued");

  await until(() => outbox.counts().queued === 0, "not all was delivered");
  expect(handed.indexOf(payment.id)).toBeGreaterThan(handed.lastIndexOf(click.id));
  expect(said).toEqual([
    expect.stringMatching(/^ERR_AFFILIATE_DISK_REPLACED .*outbox\.db was deleted or replaced /),
    "recovered",
  ]);
  for (const event of [delivered, dead, click, payment, late])
    expect(await outbox.add(event)).toBe("duplicate");
  expect(await outbox.deadLetters.list()).toMatchObject([{ id: dead.id, destination: DESTINATION }]);
  expect(statSync(join(directory, "outbox.db")).mode & 0o777).toBe(0o600);
});

test("the disk outbox saves a deleted file's events once, whichever of its processes is the first to see it", async () => {
  const directory = scratchDirectory();
  const [one, other] = [watched({ directory }), watched({ directory })];
  const events = someOf("payment", 50);
  for (const event of events) await one.outbox.add(event);
  removeAtOnce(directory);

  one.start();
  other.start();
  await until(() => one.outbox.counts().queued + other.outbox.counts().queued === 0, "not all was delivered");
  const late = [sample("payment"), sample("payment")] as const;
  await one.outbox.add(late[0]);
  await other.outbox.add(late[1]);

  await until(() => one.handed.length + other.handed.length === events.length + 2, "not all was delivered");
  expect([...one.handed, ...other.handed].sort()).toEqual([...events, ...late].map(({ id }) => id).sort());
});

test("the disk outbox settles what it had claimed before the file was deleted, at its place in the new one", async () => {
  let answer = (_verdict: Verdict) => {};
  const deliver = () => new Promise<Verdict>((resolve) => (answer = resolve));
  const { directory, outbox, handed, start } = watched({}, deliver);
  const [first, underWay] = [sample("payment"), sample("payment")];
  start();
  await outbox.add(first);
  await until(() => handed.length === 1, "it was not handed over");
  answer(DELIVERED);
  await until(() => outbox.counts().queued === 0, "it was not settled");
  await outbox.add(underWay);
  await until(() => handed.length === 2, "it was not handed over");

  removeAtOnce(directory);
  // Takes a place that the event under way might have.
  const disk = openDisk(directory, { owner: "other" });
  await disk.append(...someOf("payment", 3));
  await disk.claim(3);
  const before = handed.length;
  answer(REJECTED);

  await until(() => outbox.counts().dead.rejected === 1, "it was not settled");
  await until(() => outbox.counts().queued === 3, "the events of the other process were not counted");
  expect(handed.length).toBe(before);
  expect(await outbox.deadLetters.list()).toMatchObject([{ id: underWay.id }]);
  disk.close();
});

/** Another outbox's file with these events. Returns what puts it in the place of a directory's. */
async function backupWith(...events: readonly OutboxEvent[]): Promise<(directory: string) => void> {
  const disk = openDisk(scratchDirectory());
  await disk.append(...events);
  closeWhole(disk);
  return (directory) => {
    copyFileSync(disk.path, join(directory, "restored"));
    renameSync(join(directory, "restored"), join(directory, "outbox.db"));
  };
}

test("the disk outbox saves what it has if another file was put in its place, and sends nothing again that was sent or cancelled", async () => {
  let hold = false;
  const { directory, outbox, said, handed, delivered, settled, start } = watched({}, () =>
    hold ? { type: "retry", inMs: 3_000, history: UNTRIED } : DELIVERED,
  );
  const sent = someOf("payment", 2);
  const [both, own] = [sample("payment"), sample("payment")];
  const [restored, late] = [sample("payment"), sample("payment")];
  const cancelled = scheduledSample(LONG_MS);
  const restore = await backupWith(...sent, cancelled, both, restored);
  start();
  for (const event of [...sent, cancelled]) await outbox.add(event);
  await until(() => outbox.counts().queued === 1, "not all was delivered");
  expect(await outbox.cancel(cancelled.id)).toBe("cancelled");
  hold = true;
  for (const event of [both, own]) await outbox.add(event);
  await until(() => settled.filter(([, type]) => type === "retry").length === 2, "a verdict was not stored");
  hold = false;
  restore(directory);

  await outbox.add(late);

  await until(() => dueIn(outbox.counts()) === 0 && handed.includes(late.id), "not all was delivered");
  const all = [...sent, both, own, restored, late];
  expect([...delivered].sort()).toEqual(all.map(({ id }) => id).sort());
  expect(await outbox.cancel(cancelled.id)).toBe("cancelled");
  for (const event of all) expect(await outbox.add(event)).toBe("duplicate");
  expect(said).toEqual([expect.stringContaining("ERR_AFFILIATE_DISK_REPLACED"), "recovered"]);
});

test.each<{
  what: string;
  /** Whether the claim of what is under way is copied, with its queue. */
  isClaimed?: boolean;
  fill: (here: Disk, lost: Disk, events: readonly OutboxEvent[]) => Promise<unknown>;
}>([
  {
    what: "other events are in its place",
    isClaimed: true,
    fill: (here) => here.append(...someOf("click", 3)),
  },
  { what: "an older copy is in its place", fill: (here, _, events) => here.append(...events) },
  { what: "another process had copied it before", fill: (here, lost) => here.store.copyFrom(lost.db) },
])(
  "the disk outbox takes over of a lost file all that is there, as it is there, if $what",
  async ({ fill, isClaimed }) => {
    const [lost, here] = [diskOf({ owner: "one" }), diskOf({ owner: "other" })];
    const visitor = stranger();
    const [delivered, dead, underWay] = [sample("payment"), sample("payment"), sample("payment")];
    const [click, registration] = [sample("click", visitor), sample("registration", visitor)];
    const payment = sample("payment", visitor);
    const [kept, cancelled] = [scheduledSample(LONG_MS), scheduledSample(LONG_MS)];
    const events = [delivered, dead, underWay, click, registration, payment, kept, cancelled];
    await lost.append(...events);
    await fill(here, lost, events);
    const verdicts = { [delivered.id]: DELIVERED, [click.id]: DELIVERED, [dead.id]: REJECTED };
    for (const claim of await lost.claim(4)) {
      const verdict = verdicts[claim.event.id];
      if (verdict) await lost.settle(claim, verdict);
    }
    await lost.calls.cancel(cancelled.id);

    await here.store.copyFrom(lost.db);

    expect(await here.append(...events)).toEqual(events.map(() => "duplicate"));
    expect(await here.counts()).toMatchObject({ scheduled: { count: 1 }, dead: { rejected: 1 } });
    const claims = (await here.claim(10)).filter(({ event: { kind } }) => kind !== "click");
    const free = [[registration.id, false], ...(isClaimed ? [] : [[underWay.id, true]])];
    expect(claims.map(({ event, interrupted }) => [event.id, interrupted]).sort()).toEqual(free.sort());
  },
);

test("the disk outbox saves a file that was deleted a moment before the outbox is closed", async () => {
  const { directory, outbox } = watched();
  const event = sample("payment");
  await outbox.add(event);
  removeAtOnce(directory);

  await outbox.close();

  const disk = openDisk(directory);
  expect(await disk.append(event)).toEqual(["duplicate"]);
  expect((await disk.counts()).queued).toBe(1);
  disk.close();
});

/** Without a log: all is in its file. */
function closeWhole({ db, close }: Disk): void {
  db.exec("pragma wal_checkpoint(truncate)");
  close();
}

/** Returns the path of a file that is damaged in its middle. */
async function damagedIn(directory: string): Promise<string> {
  const disk = openDisk(directory);
  await disk.append(...someOf("payment", 400));
  closeWhole(disk);
  overwrite(disk.path, 2 * 4_096, 100 * 4_096);
  return disk.path;
}

function keeperOf(directory: string) {
  const limits = { maxBytes: 2 ** 26, maxDeadLetters: 10, rememberMs: 60_000, leaseMs: 60_000 };
  return createFileKeeper({ path: join(directory, "outbox.db"), engine, owner: "me", ...limits } as never);
}

test("the disk outbox saves a deleted file at its end, though another one could not be opened in between", async () => {
  const directory = join(scratchDirectory(), "outbox");
  const keeper = keeperOf(directory);
  const payment = sample("payment");
  await keeper.attempt((store) => store.run([appending(payment)]));
  removeAtOnce(directory, "in its place");
  await expect(keeper.attempt((store) => store.run([]))).rejects.toMatchObject({ name: "OutboxError" });
  rmSync(directory);
  await keeper.close();

  expect(await diskOf({}, directory).append(payment)).toEqual(["duplicate"]);
});

test("the disk outbox keeps the file that was put in the place of a damaged one, and says what is not sent", async () => {
  const [directory, restored] = [scratchDirectory(), scratchDirectory()];
  const [damaged, backup] = [openDisk(directory), openDisk(restored)];
  await damaged.append(...someOf("payment", 400));
  const payment = sample("payment");
  await backup.append(payment);
  for (const disk of [damaged, backup]) closeWhole(disk);
  const keeper = keeperOf(directory);
  onTestFinished(() => keeper.close());
  await keeper.attempt((store) => store.run([]));
  overwrite(damaged.path, 2 * 4_096, 100 * 4_096);
  renameSync(backup.path, damaged.path);

  const { results, problems } = await keeper.attempt((store) => store.run([appending(payment)]));
  expect(results).toEqual(["duplicate"]);
  expect(problems.map(({ message }) => message)).toEqual([expect.stringMatching(/replaced .* is not sent$/)]);
});

test.each([
  ["garbage", (path: string) => writeFileSync(path, "x".repeat(8_192))],
  ["a damaged backup", async (path: string) => renameSync(await damagedIn(scratchDirectory()), path)],
])("the disk outbox saves what it has if %s was put in its file's place", async (_what, put) => {
  const directory = scratchDirectory();
  const keeper = keeperOf(directory);
  onTestFinished(() => keeper.close());
  const payment = sample("payment");
  await keeper.attempt((store) => store.run([appending(payment)]));
  await put(join(directory, "put"));
  renameSync(join(directory, "put"), join(directory, "outbox.db"));

  const { results, problems } = await keeper.attempt((store) => store.run([appending(payment)]));
  expect(results).toEqual(["duplicate"]);
  expect(problems.map(({ code }) => code).sort()).toEqual([
    "ERR_AFFILIATE_DISK_DAMAGED",
    "ERR_AFFILIATE_DISK_REPLACED",
  ]);
});

test("the disk outbox takes a deleted file's log for no other file's", async () => {
  const directory = scratchDirectory();
  const disk = openDisk(directory);
  await disk.append(sample("payment"));
  rmSync(join(directory, "outbox.db"));
  const { ino } = statSync(`${disk.path}-shm`);

  const anew = openDisk(directory);
  expect(statSync(`${disk.path}-shm`).ino).not.toBe(ino);
  expect((await anew.counts()).queued).toBe(0);
  const event = sample("payment");
  await anew.append(event);
  anew.close();
  disk.close();

  const again = openDisk(directory);
  expect(await again.append(event)).toEqual(["duplicate"]);
  expect(again.db.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  again.close();
});

test.each([
  { what: "is damaged in its middle", make: damagedIn },
  {
    what: "is no database",
    make: (directory: string) => writeFileSync(join(directory, "outbox.db"), "no database".repeat(1_000)),
  },
])("the disk outbox sets a file aside that $what, says where, and goes on in a new one", async ({ make }) => {
  const directory = scratchDirectory();
  await make(directory);

  const { outbox, said, handed, start } = watched({ directory });
  start();
  const event = sample("payment");
  expect(await outbox.add(event)).toBe("queued");

  await until(() => handed.includes(event.id), "it was not delivered");
  await until(() => said.length === 2, "nothing was said");
  expect(said[0]).toMatch(/^ERR_AFFILIATE_DISK_DAMAGED .* is now .*\.damaged-/);
  expect(said[1]).toBe("recovered");
  await until(() => outbox.counts().queued === 0, "not all was delivered");
  expect(readdirSync(directory).filter((name) => name.endsWith("Z"))).toHaveLength(1);
});

test("a verdict of an event whose file is gone ends no event that has its number in the new file", async () => {
  const [disk, anew] = [diskOf(), diskOf()];
  await disk.append(...someOf("payment", 2));
  const [delivered, dead] = (await disk.claim(2)) as [DiskClaim, DiskClaim];
  disk.store.use(anew);
  await disk.append(...someOf("payment", 2));

  await disk.settle(delivered, DELIVERED);
  await disk.settle(dead, REJECTED);
  expect(await disk.claim(3)).toHaveLength(2);
});

test.each(["delete from events; delete from queues", "delete from events"])(
  "a verdict of an event ends no event that has its number since '%s'",
  async (byHand) => {
    const disk = diskOf();
    await disk.append(...someOf("payment", 3));
    const late = await disk.claim(3);
    disk.db.exec(byHand);
    await disk.append(...someOf("payment", 3));
    expect(disk.db.prepare("select seq from events order by seq").all()).toEqual(
      late.map(({ seq }) => ({ seq })),
    );

    for (const [nth, verdict] of [
      DELIVERED,
      REJECTED,
      { type: "retry", inMs: 0, history: UNTRIED } as const,
    ].entries())
      await disk.settle(late[nth] as DiskClaim, verdict);

    const claims = await disk.claim(4);
    expect(claims.map(({ history }) => history)).toEqual([UNTRIED, UNTRIED, UNTRIED]);
    for (const claim of claims) await disk.settle(claim, DELIVERED);
    expect(disk.db.prepare(`select * from events where state <> ${DONE}`).all()).toEqual([]);
  },
);

test("an event whose queue was deleted by hand is found though a later one of its visitor has made another", async () => {
  const disk = diskOf();
  const visitor = stranger();
  const [first, second] = [sample("payment", visitor), sample("payment", visitor)];
  await disk.append(first);
  disk.db.exec("delete from queues");
  await disk.append(second);
  await disk.store.look(true);

  const [claim] = (await disk.claim(1)) as [DiskClaim];
  await disk.settle(claim, DELIVERED);

  expect((await disk.claim(1)).map(({ event: { id } }) => id)).toEqual([first.id]);
});

test("an event that is alone in its visitor's queue in a lost file is followed by those that are there", async () => {
  const [lost, here] = [diskOf({ owner: "one" }), diskOf({ owner: "other" })];
  const visitor = stranger();
  const [first, second] = [sample("registration", visitor), sample("payment", visitor)];
  await here.append(first);
  await lost.append(second);
  await here.store.copyFrom(lost.db);

  const [claim] = (await here.claim(2)) as [DiskClaim];
  expect(claim.event.id).toBe(first.id);
  await here.settle(claim, DELIVERED);

  expect((await here.claim(2)).map(({ event }) => event.id)).toEqual([second.id]);
});

test("a late delivery counts after the event has got another number in another file", async () => {
  const [one, other] = disksOf(["one", "other"], { ended: new Set(["one"]) });
  const here = diskOf();
  await here.append(...someOf("payment", 3));
  await one.append(sample("registration"));
  const [late] = (await one.claim(1)) as [DiskClaim];
  for (let look = 0; look <= LOOKS_WITHOUT_LOCK; look++) await other.store.look();
  const [taken] = (await other.claim(1)) as [DiskClaim];
  await other.settle(taken, { type: "retry", inMs: 0, history: UNTRIED });
  expect(await one.claim(1)).toHaveLength(1);
  one.store.use(here);
  await one.store.copyFrom(one.db);
  const waiting = () => here.db.prepare("select id from events where state = 1").all();
  expect(waiting()).toHaveLength(4);

  await one.settle(late, DELIVERED);

  expect(waiting()).toHaveLength(3);
  expect(waiting()).not.toContainEqual({ id: late.event.id });
});

test("the disk outbox lists, evicts and keeps dead letters beside one that cannot be read", async () => {
  const disk = openDisk(scratchDirectory(), { maxDeadLetters: 2 });
  const [unreadable, second, third] = [sample("payment"), sample("payment"), sample("payment")];
  await disk.append(unreadable, second);
  await settleAll(disk, REJECTED);
  disk.db.exec(`update events set data = '{"half' where id = '${unreadable.id}'`);

  expect((await disk.calls.list()).map(({ id, unreadable: isUnreadable }) => [id, isUnreadable])).toEqual([
    [unreadable.id, true],
    [second.id, undefined],
  ]);
  await disk.append(third);
  await settleAll(disk, REJECTED);
  expect((await disk.calls.list()).map(({ id }) => id)).toEqual([second.id, third.id]);
});

test("the disk outbox sheds a click whose data cannot be read, for a new one of its visitor", async () => {
  const disk = diskOf();
  const [unreadable, ...clicks] = clicksOf(101) as [OutboxEvent, ...OutboxEvent[]];
  const last = clicks.pop() as OutboxEvent;
  await disk.append(unreadable, ...clicks);
  disk.db.exec(`update events set data = '{"half' where id = '${unreadable.id}'`);

  const { results, dropped } = await disk.run(appending(last));

  expect(results).toEqual(["queued"]);
  expect(dropped).toMatchObject([{ event: { id: unreadable.id }, reason: "visitor-full" }]);
});
