import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { afterEach, expect, test, vi } from "vitest";
import type { Verdict } from "../../../../src/outbox/claim.js";
import { STATEMENTS } from "../../../../src/outbox/disk/queue/claims.js";
import { LOOKS } from "../../../../src/outbox/disk/queue/lease-epoch.js";
import { type DiskClaim, settling } from "../../../../src/outbox/disk/queue/requests.js";
import { retryIn } from "../../../contract/recorder.js";
import { DESTINATION, sample, withData } from "../../../contract/samples.js";
import {
  DELIVERED,
  type Disk,
  diskOf,
  disksOf,
  idsOf,
  openDisk,
  REJECTED,
  RELEASED,
  settleAll,
  someOf,
  watch,
} from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

const HOUR_MS = 3_600_000;
const KNOWN = ["ids_new", "ids_young", "ids_old"];
const NONE = { rejected: 0, unconfirmed: 0, expired: 0 };

afterEach(() => void vi.restoreAllMocks());

function planOf({ db }: Disk, sql: string): string {
  const steps = db.prepare(`explain query plan ${sql}`).all();
  return steps.map(({ detail }) => detail).join("\n");
}

function setTime(now: number): void {
  vi.spyOn(Date, "now").mockReturnValue(now);
}

const pagesOf = ({ db }: Disk): number => db.prepare("pragma page_count").get().page_count;

/** Whether there are events that were not looked at yet: they may be ready at once. */
function isLiningUp({ store }: Disk): boolean {
  const { nextReadyAt } = store.run([]).snapshot;
  return nextReadyAt !== null && nextReadyAt <= Date.now();
}

test("the store claims by an index of those that are at the head of their line, however many wait, rest, or follow", () => {
  const disk = diskOf();

  const untried = "events_ready (destination=? AND endpoint=? AND urgency=? AND ready_at>?)";
  const { oldest, newest, tried } = STATEMENTS;
  for (const [sql, index] of [
    [oldest, untried],
    [newest, untried],
    [tried, "events_tried (destination=? AND endpoint=? AND urgency=? AND ready_at<?)"],
  ] as const) {
    const plan = planOf(disk, sql);
    expect(plan).toContain(`SEARCH events USING INDEX ${index}`);
    expect(plan.replaceAll("SCAN json_each", "")).not.toMatch(/SCAN|TEMP B-TREE/);
  }
});

test("the store does nothing to an event that would look at all the others", async () => {
  const disk = diskOf();
  const queue = resolve(import.meta.dirname, "../../../../src/outbox/disk/queue");
  const modules = await Promise.all(readdirSync(queue).map((name) => import(join(queue, name))));
  const all = modules.flatMap(({ STATEMENTS = {} }) => Object.entries<string>(STATEMENTS));
  expect(all.length).toBeGreaterThan(50);

  for (const [name, sql] of all) {
    const plan = planOf(disk, sql);
    // `state` and `head` are one row, and the others some 100. The first of what is scanned is what
    // is looked for, or all of it.
    const isBounded = name === "forgetSome" || name === "anyQueued";
    const scans = plan
      .split("\n")
      .filter((step) => step.includes("SCAN") && !/CONSTANT ROW|state|head|json_each|subquery/.test(step));
    expect(isBounded ? [] : scans, name).toEqual([]);
    expect(plan, name).not.toContain("TEMP B-TREE");
  }
});

test("the store finds the one event that is ready behind thousands of visitors whose first event rests", () => {
  const disk = diskOf();
  const resting = someOf("payment", 2_000);
  disk.append(...resting, ...resting.map((event) => ({ ...event, id: sample("payment").id })));
  settleAll(disk, retryIn(HOUR_MS));
  while (isLiningUp(disk)) expect(disk.claim(10)).toEqual([]);
  const ready = sample("payment");
  disk.append(ready);

  expect(idsOf(disk.claim(10))).toEqual([ready.id]);
  expect(disk.counts().queued).toBe(4_001);
});

test("the store takes over what a process has claimed that shows no sign of life, as interrupted, and keeps its order", () => {
  const [dead, alive] = disksOf(["dead", "alive"]);
  const first = sample("payment");
  const second = sample("payment", first.data);
  dead.append(first, second);
  dead.claim(1);

  alive.store.lookAfter();
  expect(alive.claim(10)).toEqual([]);
  watch(alive);

  const [takenOver] = alive.claim(10);
  expect(takenOver).toMatchObject({ event: first, interrupted: true });
  // Given back untried, by an outbox that is being closed: what became of the first attempt is as
  // unknown as before.
  alive.settle(takenOver as DiskClaim, RELEASED);
  const [again] = alive.claim(10);
  expect(again).toMatchObject({ event: first, interrupted: true });
  alive.settle(again as DiskClaim, retryIn(0, { maybeTaken: true }));
  expect(alive.claim(10)).toMatchObject([
    { event: first, interrupted: false, history: { maybeTaken: true } },
  ]);
});

test("the store holds what was in doubt before, when a process gives it back that never sent it", () => {
  const [first, slow, other] = disksOf(["first", "slow", "other"]);
  const [held, waiting] = [sample("payment"), sample("payment")];
  first.append(held, waiting);
  // It may have sent both.
  first.claim(2);
  watch(slow);
  const claims = slow.claim(2) as [DiskClaim, DiskClaim];
  watch(other);
  const taken = other.claim(2) as [DiskClaim, DiskClaim];
  const unconfirmed = { reason: "unconfirmed", code: "ERR_INTERRUPTED", attempts: 1 } as const;
  other.settle(taken[0], { type: "dead", ...unconfirmed });
  other.settle(taken[1], RELEASED);

  for (const claim of claims) slow.settle(claim, RELEASED);

  expect(other.counts().dead.unconfirmed).toBe(1);
  expect(other.claim(2)).toMatchObject([{ event: waiting, interrupted: true }]);
});

test("the store says of a verdict whether it came to anything: of a claim that was taken over, a delivery alone does", () => {
  const [slow, other] = disksOf(["slow", "other"]);
  const event = sample("payment");
  slow.append(event);
  const [claim] = slow.claim(1) as [DiskClaim];
  watch(other);
  const [taken] = other.claim(1) as [DiskClaim];
  const held = { type: "dead", reason: "unconfirmed", attempts: 1 } as const;
  const say = (disk: Disk, each: DiskClaim, verdict: Verdict) =>
    disk.store.run([settling(each, verdict)]).results[0];

  for (const verdict of [held, retryIn(0)]) expect(say(slow, claim, verdict)).toBe(false);
  expect(slow.claim(1)).toEqual([]);
  expect(say(other, taken, held)).toBe(true);
  expect(say(other, taken, held)).toBe(false);
  // It was given up, and the service has it after all: once.
  expect(say(slow, claim, DELIVERED)).toBe(true);
  expect(say(other, taken, DELIVERED)).toBe(false);
  expect(other.counts()).toMatchObject({ queued: 0, dead: NONE });
  expect(other.append(event)).toEqual(["duplicate"]);
});

test("the store leaves a process its claims as long as it shows signs of life", () => {
  const [slow, other] = disksOf(["slow", "other"]);
  slow.append(sample("payment"));
  slow.claim(1);

  for (let round = 0; round < 5; round++) {
    slow.store.lookAfter();
    for (let look = 0; look < LOOKS; look++) other.store.lookAfter();
  }

  expect(other.claim(10)).toEqual([]);
});

test("the store does not let an event rest longer because the clock was set back", () => {
  const disk = diskOf();
  const now = Date.now();
  disk.append(sample("payment"));
  disk.settle(disk.claim(1)[0] as never, retryIn(60_000));

  setTime(now - 24 * HOUR_MS);
  // It is brought forward once, however often the file is looked at.
  for (const { snapshot } of [disk.store.run([]), disk.store.run([])]) {
    const restMs = (snapshot.nextReadyAt as number) - Date.now();
    expect(restMs).toBeGreaterThan(50_000);
    expect(restMs).toBeLessThan(62_000);
  }
  const fresh = sample("payment");
  disk.append(fresh);
  expect(disk.claim(1)[0]?.event.id).toBe(fresh.id);

  setTime(now - 24 * HOUR_MS + 62_000);
  expect(disk.claim(1)).toHaveLength(1);
});

test("the store knows an id again however many came after it, until it is time to forget it", () => {
  const disk = diskOf({ rememberMs: HOUR_MS, maxBytes: 2 ** 28 });
  const first = sample("payment");
  disk.append(first);
  disk.settle(disk.claim(1)[0] as never, DELIVERED);
  const inTables = () => KNOWN.map((table) => disk.db.prepare(`select count(*) as n from ${table}`).get().n);
  let number = 1;
  const next = () => ({ ...first, id: (number++).toString(16).padStart(16, "0").padEnd(32, "0") });
  const waiting: (typeof first)[] = [];
  while (inTables()[2] === 0) {
    const events = Array.from({ length: 10_000 }, next);
    expect(new Set(disk.append(...events))).toEqual(new Set(["queued"]));
    waiting.push(...events);
  }

  expect(inTables().reduce((sum, n) => sum + n, 0)).toBe(waiting.length + 1);
  expect(new Set(disk.append(first, ...waiting))).toEqual(new Set(["duplicate"]));
  setTime(Date.now() + HOUR_MS + 1);
  disk.store.lookAfter();
  expect(disk.append(first, ...waiting.slice(0, 9))).toEqual(["queued", ...Array(9).fill("duplicate")]);
});

test("the store leaves no row id behind that is more than a number of JavaScript holds: Node 26 throws at the next statement", () => {
  const disk = diskOf();
  disk.append(sample("payment"), sample("payment"));

  for (const name of KNOWN) {
    disk.db.exec(`insert into ${name} values (1, ${2n ** 62n})`);
    const { id } = disk.db.prepare("select cast(last_insert_rowid() as text) as id").get();
    expect({ name, id }).toEqual({ name, id: "2" });
  }
});

test("the store takes no event for another that had its place in a file that is gone", () => {
  const directory = scratchDirectory();
  const disk = openDisk(directory);
  disk.append(sample("payment"));
  const [old] = disk.claim(1) as [DiskClaim];
  disk.close();
  rmSync(directory, { recursive: true });
  const anew = diskOf({}, directory);
  anew.append(sample("payment"));
  const [current] = anew.claim(1) as [DiskClaim];
  expect(current.seq).toBe(old.seq);

  anew.settle(old, REJECTED);
  anew.settle(old, DELIVERED);

  expect(anew.counts()).toMatchObject({ queued: 1, dead: NONE });
  expect(anew.append({ ...sample("payment"), id: old.event.id })).toEqual(["duplicate"]);
});

test("the store never uses a place again that another process may still hold", () => {
  const [slow, other] = disksOf(["slow", "other"]);
  slow.append(sample("payment"));
  const [held] = slow.claim(1) as [DiskClaim];
  watch(other);
  other.settle(other.claim(1)[0] as DiskClaim, DELIVERED);

  other.append(sample("payment"));

  expect(other.claim(1)[0]?.seq).toBeGreaterThan(held.seq);
});

test("the store counts what the service said of dead letters towards the file's bound", () => {
  const maxBytes = 3 * 1024 * 1024;
  const disk = diskOf({ maxBytes, maxDeadLetters: 100_000 });
  const death = { type: "dead", reason: "rejected", attempts: 1, message: "漢".repeat(500) } as const;
  const dropped: string[] = [];
  while (dropped.length === 0) {
    disk.append(...someOf("click", 50));
    for (const claim of disk.claim(50))
      dropped.push(...disk.settle(claim, death).map(({ reason }) => reason));
  }
  expect(new Set(dropped)).toEqual(new Set(["dead-letters-full"]));
  expect(pagesOf(disk) * 4_096).toBeLessThanOrEqual(maxBytes / 2);
});

test("the store drops no more dead letters than come if it has more than its bound allows", () => {
  const directory = scratchDirectory();
  const before = openDisk(directory);
  before.append(...someOf("payment", 10));
  settleAll(before, REJECTED);
  before.close();

  const disk = diskOf({ maxDeadLetters: 2 }, directory);
  disk.append(sample("payment"));
  const dropped = disk.claim(1).flatMap((claim) => disk.settle(claim, REJECTED));
  expect(dropped).toHaveLength(1);
  expect(disk.counts().dead.rejected).toBe(10);
});

test("the store never grows its file beyond its bound, and gives the space back", () => {
  const maxBytes = 3 * 1024 * 1024;
  const disk = diskOf({ maxBytes });
  const userAgent = "漢".repeat(2_000);
  const outcomes = new Set<unknown>();
  for (let batch = 0; batch < 40; batch++) {
    const events = someOf("click", 100).map((event, nth) =>
      nth % 2 ? event : withData(event, { userAgent }),
    );
    for (const outcome of disk.append(...events)) outcomes.add(outcome);
  }
  const full = pagesOf(disk) * 4_096;
  expect(outcomes).toEqual(new Set(["queued", "full"]));
  expect(full).toBeLessThanOrEqual(maxBytes);

  settleAll(disk, DELIVERED);
  for (let round = 0; round < 5; round++) disk.store.lookAfter();
  expect(pagesOf(disk) * 4_096).toBeLessThan(full);
  disk.db.exec("pragma wal_checkpoint(truncate)");
  expect(statSync(disk.path).size).toBeLessThan(full);
});

test("the store leaves no address of what was delivered in the file or its log, once the file is at rest", () => {
  const disk = diskOf();
  const addresses = Array.from({ length: 300 }, (_, nth) => `customer-${nth}@shop.example`);
  const events = addresses.map((customerEmail) => withData(sample("payment"), { customerEmail }));
  const found = () => {
    const text = [disk.path, `${disk.path}-wal`].map((path) => readFileSync(path, "latin1")).join("");
    return addresses.filter((address) => text.includes(address)).length;
  };
  const [resting, other, ...others] = events as [OutboxEvent, OutboxEvent, ...OutboxEvent[]];
  disk.append(...others);
  expect(found()).toBe(others.length);
  settleAll(disk, DELIVERED);

  disk.store.lookAfter();
  expect(found()).toBe(0);

  // One rests: nothing changes from one look to the next.
  disk.append(resting);
  disk.settle(disk.claim(1)[0] as DiskClaim, retryIn(HOUR_MS));
  disk.append(other);
  disk.settle(disk.claim(1)[0] as DiskClaim, DELIVERED);
  disk.store.lookAfter();
  disk.store.lookAfter();
  expect(statSync(`${disk.path}-wal`).size).toBe(0);
  expect(found()).toBe(1);
});

test("the store says since when another claim finds more, although other transactions came after the last claim", () => {
  let now = 1_000_000;
  const disk = diskOf({ time: () => now });
  disk.append(sample("payment"));
  disk.settle(disk.claim(1)[0] as DiskClaim, retryIn(10));
  expect(disk.claim(1)).toEqual([]);
  now += 11;
  expect(disk.store.run([]).snapshot.nextReadyAt).toBe(1_000_010);
  expect(disk.claim(1)).toHaveLength(1);
  expect(disk.store.run([]).snapshot.nextReadyAt).toBeNull();
});

test("the store says that another claim finds more if a row that cannot be read has taken a slot", () => {
  const disk = diskOf();
  const [unreadable, next] = [sample("payment"), sample("payment")];
  disk.append(unreadable, next);
  disk.store.run([]);
  disk.db.exec(`update events set data = 'damaged' where id = '${unreadable.id}'`);
  const reopened = diskOf({}, dirname(disk.path));
  const lanes = [{ endpoint: "lead/payment", limit: 1 }] as const;
  const claim = { type: "claim", capacity: { destination: DESTINATION, limit: 8, lanes } } as const;
  const { results, snapshot } = reopened.store.run([claim]);
  expect(results).toEqual([[]]);
  expect(snapshot.nextReadyAt).not.toBeNull();
  const { results: others, snapshot: after } = reopened.store.run([claim]);
  expect(others).toMatchObject([[{ event: { id: next.id } }]]);
  expect(after.nextReadyAt).toBeNull();
});
