import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DeadLetter, OutboxEvent } from "express-affiliate";
import { expect, test, vi } from "vitest";
import type { Verdict } from "../../../../src/outbox/claim.js";
import { UNTRIED } from "../../../../src/outbox/claim.js";
import { salvage } from "../../../../src/outbox/disk/queue/salvage.js";
import { until } from "../../../contract/recorder.js";
import { DESTINATION, idsOf, sample, stranger } from "../../../contract/samples.js";
import { DELIVERED, diskOf, openDisk, overwrite, REJECTED, someOf } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { watched } from "../../../helpers/watched-outbox.js";

test.each([
  { what: "the directory", remove: (directory: string) => rmSync(directory, { recursive: true }) },
  { what: "the file, and not its log,", remove: (directory: string) => rmSync(join(directory, "outbox.db")) },
])("the disk outbox loses nothing if $what is deleted under it, and says so", async ({ remove }) => {
  const visitor = stranger();
  const [delivered, dead] = [sample("payment"), sample("registration")];
  const [click, payment] = [sample("click", visitor), sample("payment", visitor)];
  let hold = false;
  const { directory, outbox, said, handed, settled, start } = watched({}, ({ event: { id } }) => {
    if (hold) return { type: "retry", inMs: 60_000, history: UNTRIED };
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
  await until(() => settled.includes("retry"), "its verdict was not stored");
  hold = false;

  remove(directory);
  const late = sample("payment");
  expect(await outbox.add(late)).toBe("queued");

  await until(() => outbox.counts().queued === 0, "not all was delivered");
  expect(handed.indexOf(payment.id)).toBeGreaterThan(handed.lastIndexOf(click.id));
  expect(said).toEqual([
    expect.stringMatching(
      /^ERR_AFFILIATE_DISK_REPLACED .*outbox\.db was deleted or replaced .*events 2, dead letters 1$/,
    ),
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
  rmSync(directory, { recursive: true });

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

  rmSync(directory, { recursive: true });
  // Takes a place that the event under way might have.
  const disk = openDisk(directory, { owner: "other" });
  disk.append(...someOf("payment", 3));
  disk.claim(3);
  const before = handed.length;
  answer(REJECTED);

  await until(() => outbox.counts().dead.rejected === 1, "it was not settled");
  expect(outbox.counts().queued).toBe(3);
  expect(handed.length).toBe(before);
  expect(await outbox.deadLetters.list()).toMatchObject([{ id: underWay.id }]);
  disk.close();
});

test("the disk outbox saves what it has if another file was put in its place", async () => {
  const backup = scratchDirectory();
  const { directory, outbox, said, handed, start } = watched();
  const [both, own, restored] = [sample("payment"), sample("payment"), sample("payment")];
  const disk = openDisk(backup);
  disk.append(both, restored);
  disk.db.exec("pragma wal_checkpoint(truncate)");
  disk.close();
  await outbox.add(both);
  await outbox.add(own);
  copyFileSync(join(backup, "outbox.db"), join(directory, "restored"));
  renameSync(join(directory, "restored"), join(directory, "outbox.db"));

  start();

  await until(() => handed.length === 3, "not all was delivered");
  expect([...handed].sort()).toEqual([both, own, restored].map(({ id }) => id).sort());
  expect(said).toEqual([expect.stringMatching(/events 1, dead letters 0$/), "recovered"]);
});

test("the disk outbox saves a file that was deleted a moment before the outbox is closed", async () => {
  const { directory, outbox } = watched();
  const event = sample("payment");
  await outbox.add(event);
  rmSync(directory, { recursive: true });

  await outbox.close();

  const disk = openDisk(directory);
  expect(disk.append(event)).toEqual(["duplicate"]);
  expect(disk.counts().queued).toBe(1);
  disk.close();
});

test("the disk outbox takes a deleted file's log for no other file's", async () => {
  const directory = scratchDirectory();
  const disk = openDisk(directory);
  disk.append(sample("payment"));
  rmSync(join(directory, "outbox.db"));

  const anew = openDisk(directory);
  expect(anew.counts().queued).toBe(0);
  const event = sample("payment");
  anew.append(event);
  anew.close();
  disk.close();

  const again = openDisk(directory);
  expect(again.append(event)).toEqual(["duplicate"]);
  expect(again.db.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  again.close();
});

/** Makes rubbish of the page of the table that holds an event. */
function damagePageOf({ data }: OutboxEvent, path: string): void {
  const page = Math.floor(readFileSync(path).indexOf(`"sessionId":"${data.sessionId}"`) / 4_096);
  overwrite(path, page * 4_096, 4_096);
}

/** The file of a thousand payments, with rubbish in the pages of some. */
function damagedFile(damaged: readonly number[]) {
  const directory = scratchDirectory();
  const disk = openDisk(directory);
  const events = someOf("payment", 1_000);
  disk.append(...events);
  disk.db.exec("pragma wal_checkpoint(truncate)");
  disk.close();
  for (const nth of damaged) damagePageOf(events[nth] as OutboxEvent, disk.path);
  return { lost: diskOf({}, directory), events };
}

test("the disk outbox saves what is before and behind the damage of a file by the hundred, not each by an fsync of its own", () => {
  const { lost } = damagedFile([500]);
  const save = vi.fn((_: string, rows: readonly unknown[]) => rows.length);

  const saved = salvage(lost.db, save);

  expect(saved.events).toBeGreaterThan(980);
  expect(saved.events).toBeLessThan(1_000);
  expect(save.mock.calls.filter(([, rows]) => rows.length > 0)).toHaveLength(5);
});

test("the disk outbox saves what is between two damaged places of a file", () => {
  const { lost, events } = damagedFile([200, 800]);
  const anew = diskOf();

  expect(anew.store.salvage(lost.db).events).toBeGreaterThan(960);
  expect(anew.append(events[500] as OutboxEvent, events[999] as OutboxEvent)).toEqual([
    "duplicate",
    "duplicate",
  ]);
});

test("the disk outbox saves what can be read of a damaged file, wherever the damage is", async () => {
  const directory = scratchDirectory();
  const disk = openDisk(directory);
  const events = Array.from({ length: 400 }, (_, nth) => sample(nth % 2 ? "payment" : "click"));
  disk.append(...events);
  const dead = disk.claim(10);
  for (const claim of dead) disk.settle(claim, REJECTED);
  for (const claim of disk.claim(10)) disk.settle(claim, DELIVERED);
  disk.db.exec("pragma wal_checkpoint(truncate)");
  disk.close();
  damagePageOf(events[100] as OutboxEvent, disk.path);

  const { outbox, said, handed, start } = watched({ directory });
  start();
  await outbox.add(sample("payment"));

  await until(() => said.length === 2, "nothing was said");
  expect(said[0]).toMatch(/^ERR_AFFILIATE_DISK_DAMAGED .* is now .*\.damaged-/);
  const numberIn = (words: RegExp) => Number(words.exec(said[0] as string)?.[1]);
  expect(numberIn(/dead letters (\d+)/)).toBe(10);
  const saved = numberIn(/events (\d+)/);
  expect(saved).toBeGreaterThan(300);
  expect(saved).toBeLessThan(380);
  await until(() => outbox.counts().queued === 0, "not all was delivered");
  // Some may have gone before the damage was found.
  expect(handed.length).toBeGreaterThanOrEqual(saved);
  expect(new Set(handed).size).toBe(handed.length);
  const letters = await outbox.deadLetters.list();
  expect(idsOf(letters).sort()).toEqual(idsOf(dead.map(({ event }) => event)).sort());
  expect(readdirSync(directory).filter((name) => name.includes(".damaged-"))).not.toEqual([]);
});

test.each(["data", "history"])(
  "the disk outbox sets an event aside whose %s cannot be read, says so, and sends the others",
  async (column) => {
    const directory = scratchDirectory();
    const visitor = stranger();
    const before = sample("payment");
    const [unreadable, next] = [sample("payment", visitor), sample("payment", visitor)];
    const disk = openDisk(directory);
    disk.append(before, unreadable, next);
    disk.db.exec(`update events set ${column} = '{"half' where id = '${unreadable.id}'`);
    const { outbox, said, handed, start } = watched({ directory });

    start();

    await until(() => handed.includes(next.id), "the visitor's next was not delivered");
    await until(() => outbox.counts().queued === 0, "not all was delivered");
    expect(handed.sort()).toEqual([before.id, next.id].sort());
    expect(said).toEqual([
      expect.stringMatching(`^ERR_AFFILIATE_DISK_DAMAGED .*outbox.db cannot be read.*id ${unreadable.id}$`),
      "recovered",
    ]);
    expect(disk.db.prepare(`select id, ${column} as value from unreadable`).all()).toEqual([
      { id: unreadable.id, value: '{"half' },
    ]);
    disk.close();
  },
);

test("the disk outbox lists, evicts and keeps dead letters beside one that cannot be read", () => {
  const disk = openDisk(scratchDirectory(), { maxDeadLetters: 2 });
  const [unreadable, second, third] = [sample("payment"), sample("payment"), sample("payment")];
  disk.append(unreadable, second);
  for (const claim of disk.claim(2)) disk.settle(claim, REJECTED);
  disk.db.exec(`update dead_letters set data = '{"half' where id = '${unreadable.id}'`);
  const list = () =>
    disk.store.run([{ type: "list", query: {}, destination: DESTINATION }]).results[0] as DeadLetter[];

  expect(list().map(({ id, unreadable: isUnreadable }) => [id, isUnreadable])).toEqual([
    [unreadable.id, true],
    [second.id, undefined],
  ]);
  const retry = { type: "retry", letters: [{ id: unreadable.id, destination: DESTINATION }] } as const;
  expect(disk.store.run([retry]).results).toEqual([0]);
  disk.append(third);
  for (const claim of disk.claim(1)) expect(disk.settle(claim, REJECTED)).toEqual([]);
  expect(list().map(({ id }) => id)).toEqual([second.id, third.id]);
});
