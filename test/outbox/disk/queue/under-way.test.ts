import { dirname } from "node:path";
import { expect, test } from "vitest";
import { failureOf } from "../../../../src/outbox/disk/file/sqlite.js";
import type { DiskClaim } from "../../../../src/outbox/disk/queue/requests.js";
import { CLICKS_OF_A_VISITOR } from "../../../../src/outbox/outbox.js";
import { retryIn } from "../../../contract/recorder.js";
import { DESTINATION, sample, stranger } from "../../../contract/samples.js";
import {
  DELIVERED,
  type Disk,
  diskOf,
  disksOf,
  idsOf,
  RELEASED,
  someOf,
  watch,
} from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

const rowsOf = ({ db }: Disk): number => db.prepare("select count(*) as number from events").get().number;

/** Two events, one of which is delivered while the other is under way: its row is removed later. */
function withOneDelivered(directory = scratchDirectory(), owner = "me") {
  const disk = diskOf({ owner }, directory);
  const [first, second] = [sample("payment"), sample("payment")];
  disk.append(first, second);
  const claims = disk.claim(2) as [DiskClaim, DiskClaim];
  disk.settle(claims[0], DELIVERED);
  expect(rowsOf(disk)).toBe(2);
  return { directory, disk, first, second, claims };
}

test("the store removes what was delivered at once if nothing else is under way", () => {
  const { disk, claims } = withOneDelivered();
  disk.settle(claims[1], DELIVERED);
  expect(rowsOf(disk)).toBe(0);
});

test("the store removes what was delivered when it looks after its file, however long something else is under way", () => {
  const { disk, second } = withOneDelivered();
  disk.store.lookAfter();
  expect(rowsOf(disk)).toBe(1);
  expect(disk.counts()).toMatchObject({ queued: 1, oldest: second.createdAt });
});

test("the store removes what was delivered before it takes much space", () => {
  const disk = diskOf();
  const events = someOf("payment", 300);
  disk.append(...events);
  for (const claim of disk.claim(299)) disk.settle(claim, DELIVERED);
  expect(rowsOf(disk)).toBeLessThanOrEqual(1 + 255);
  expect(disk.counts().queued).toBe(1);
});

test("the store neither counts, claims nor takes anew what was delivered and is not removed yet", () => {
  const { disk, first, second } = withOneDelivered();
  expect(disk.counts()).toMatchObject({ queued: 1, oldest: second.createdAt });
  expect(disk.claim(8)).toEqual([]);
  expect(disk.append(first)).toEqual(["duplicate"]);
});

test("the store has what a killed process had delivered for delivered, and what it had claimed for interrupted", () => {
  const { directory, first, second } = withOneDelivered(undefined, "killed");
  const other = diskOf({ owner: "other" }, directory);
  watch(other);
  const claims = other.claim(8);
  expect(idsOf(claims)).toEqual([second.id]);
  expect(claims[0]?.interrupted).toBe(true);
  expect(other.append(first)).toEqual(["duplicate"]);
  expect(rowsOf(other)).toBe(1);
});

test("the store counts a visitor's clicks without those that were delivered, and gives up none that is under way", () => {
  const disk = diskOf();
  const visitor = stranger();
  disk.append(sample("click", visitor));
  const [delivered] = disk.claim(1) as [DiskClaim];
  disk.append(sample("payment"));
  disk.claim(1);
  disk.settle(delivered, DELIVERED);
  const clicks = Array.from({ length: CLICKS_OF_A_VISITOR }, () => sample("click", visitor));
  expect(disk.store.run(clicks.map((event) => ({ type: "append", event }))).dropped).toEqual([]);
  const [oldest] = disk.claim(1) as [DiskClaim];
  expect(oldest.event.id).toBe(clicks[0]?.id);

  const { dropped } = disk.store.run([{ type: "append", event: sample("click", visitor) }]);

  expect(dropped).toMatchObject([{ event: { id: clicks[1]?.id }, reason: "visitor-full" }]);
});

test("the store has what comes wait for another process's attempt, and for its rest after that", () => {
  const [one, other] = disksOf(["one", "other"]);
  const visitor = stranger();
  const [first, second] = [sample("payment", visitor), sample("payment", visitor)];
  one.append(first);
  const [claim] = one.claim(8) as [DiskClaim];
  other.append(second);
  expect(other.claim(8)).toEqual([]);

  one.settle(claim, retryIn(3_600_000));
  expect(other.claim(8)).toEqual([]);
  expect(one.claim(8)).toEqual([]);
});

test("the store claims again in its place what was given back untried", () => {
  const disk = diskOf();
  const visitor = stranger();
  const [first, second] = [sample("payment", visitor), sample("payment", visitor)];
  disk.append(first, second);
  const [claim] = disk.claim(8) as [DiskClaim];
  disk.settle(claim, RELEASED);
  const [again, ...others] = disk.claim(8) as [DiskClaim];
  expect(again).toMatchObject({ event: { id: first.id }, interrupted: false });
  expect(others).toEqual([]);
  disk.settle(again, DELIVERED);
  expect(idsOf(disk.claim(8))).toEqual([second.id]);
});

test("the store claims a payment in the transaction that stores it, before clicks that have entered no queue", () => {
  const disk = diskOf();
  disk.append(...someOf("click", 20));
  disk.claim(1);
  const payment = sample("payment");
  const lanes = [
    { endpoint: "lead/payment", limit: 1 },
    { endpoint: "click", limit: 1 },
  ] as const;
  const claim = { type: "claim", capacity: { destination: DESTINATION, limit: 1, lanes } } as const;

  const { results } = disk.store.run([{ type: "append", event: payment }, claim]);

  expect(results).toMatchObject(["queued", [{ event: payment }]]);
});

test("the store saves of a lost file what was delivered as delivered, and what was claimed as its process's", () => {
  const { disk, first, second, claims } = withOneDelivered();
  const waiting = sample("payment");
  disk.append(waiting);
  const directory = scratchDirectory();
  const [anew, other] = [diskOf({}, directory), diskOf({ owner: "other" }, directory)];

  expect(anew.store.salvage(disk.db)).toEqual({ events: 2, deadLetters: 0 });

  expect(anew.append(first, second, waiting)).toEqual(["duplicate", "duplicate", "duplicate"]);
  expect(idsOf(other.claim(8))).toEqual([waiting.id]);
  anew.settle(claims[1], DELIVERED);
  expect(anew.counts().queued).toBe(1);
  watch(anew);
  expect(anew.claim(8)).toMatchObject([{ event: { id: waiting.id }, interrupted: true }]);
});

test("the store claims nothing again that was claimed in a lost file, and is delivered before others enter a queue", () => {
  const disk = diskOf();
  const events = [sample("payment"), sample("payment"), sample("payment")] as const;
  disk.append(...events);
  const claims = disk.claim(2) as [DiskClaim, DiskClaim];
  const anew = diskOf();
  anew.store.salvage(disk.db);

  // The other one is under way still, so the row may stay for a while.
  anew.settle(claims[0], DELIVERED);

  expect(idsOf(anew.claim(8))).toEqual([events[2].id]);
  anew.settle(claims[1], RELEASED);
  expect(idsOf(anew.claim(8))).toEqual([events[1].id]);
});

test("the store waits for nothing to enter a queue if all that came last is another process's, saved of a lost file", () => {
  const { disk } = withOneDelivered();
  const directory = scratchDirectory();
  diskOf({}, directory).store.salvage(disk.db);
  const other = diskOf({ owner: "other" }, directory);

  expect(other.claim(8)).toEqual([]);

  expect(other.counts().queued).toBe(1);
  expect(other.store.run([]).snapshot.nextReadyAt).toBeNull();
});

test("the store has the first that wait in doubt if a lost file does not say what was under way or delivered", () => {
  const { disk, first, second } = withOneDelivered();
  const waiting = someOf("payment", 1_100);
  disk.append(...waiting);
  disk.db.exec("update state set claims = 'rubbish', delivered = 'rubbish'");
  const anew = diskOf();

  expect(anew.store.salvage(disk.db)).toEqual({ events: 1_102, deadLetters: 0 });

  const claims: DiskClaim[] = [];
  for (let some = anew.claim(256); some.length > 0; some = anew.claim(256)) claims.push(...some);
  expect(idsOf(claims.slice(0, 2))).toEqual([first.id, second.id]);
  expect(claims.map(({ interrupted }) => interrupted)).toEqual(claims.map((_, nth) => nth < 1_024));
});

test("the store takes a file for damaged that does not say what is under way", () => {
  const { disk } = withOneDelivered();
  disk.db.exec("update state set delivered = 'rubbish'");
  const other = diskOf({ owner: "other" }, dirname(disk.path));
  const claim = () => other.claim(8);
  expect(claim).toThrow("state");
  expect(claim).toThrow(expect.toSatisfy((error) => failureOf(error) === "damaged"));
});
