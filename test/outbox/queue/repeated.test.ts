import { expect, test } from "vitest";
import { createCounts } from "../../../src/outbox/queue/counts.js";
import { type Database, Scope } from "../../../src/outbox/queue/database.js";
import type { QueueClaim } from "../../../src/outbox/queue/leases.js";
import { createQueue } from "../../../src/outbox/queue/queue.js";
import { DEAD, DONE, SCHEDULED } from "../../../src/outbox/queue/rows.js";
import { systemClock } from "../../../src/shared/clock.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { capacityOf } from "../../helpers/deliver.js";
import { sqliteServer } from "../../helpers/sqlite-server.js";

/** A queue as over a server, and what happens after each of its next transactions, before their answers. */
function setUp(number = 3) {
  const { db, database } = sqliteServer();
  const after: (() => unknown)[] = [];
  const transaction: Database["transaction"] = async (...asked) => {
    const result = await database.transaction(...asked);
    await after.shift()?.();
    return result;
  };
  const scope = new Scope(DESTINATION);
  const counts = createCounts(async () => [], scope);
  const queue = createQueue(
    { ...database, transaction },
    {
      ...{ leaseMs: 60_000, rememberMs: 60_000, counts, scope, clock: systemClock },
      ...{ maxDeadLetters: 10, maxDeadLetterBytes: 10_000, wake() {}, onDropped() {} },
    },
  );
  const events = Array.from({ length: number }, () => sample("payment"));
  return {
    ...{ queue, after },
    append: (report = "the same") => queue.append(events.map((event) => ({ event, report }))),
    heads: () => db.prepare("select count(*) as number from queues").get().number,
    leave: (state: number) => db.exec(`update events set state = ${state}; delete from queues`),
  };
}

const nothing = () => {};
const loseConnection = () => {
  throw new Error("the connection was lost");
};

const QUEUED = ["queued", "queued", "queued"];

test("an append that is repeated after a lost answer has stored its events once, and another is a duplicate", async () => {
  const { append, heads } = setUp();
  expect([await append(), await append()]).toEqual([QUEUED, QUEUED]);
  expect(await append("another")).toEqual(["duplicate", "duplicate", "duplicate"]);
  expect(heads()).toBe(3);
});

test.each([
  ["delivered", DONE],
  ["given up", DEAD],
  ["scheduled", SCHEDULED],
])("an append that is repeated once its events are %s puts them into no queue again", async (_, state) => {
  const { append, heads, leave } = setUp();
  await append();
  leave(state);
  expect(await append()).toEqual(QUEUED);
  expect(heads()).toBe(0);
});

test.each([
  ["is not over yet", nothing],
  ["is repeated after a lost answer", loseConnection],
])("what is claimed again while its release %s stays claimed", async (_, end) => {
  const { queue, after, append } = setUp();
  await append();
  const [released] = await queue.claim(capacityOf(3));
  if (!released) throw new Error("nothing was claimed");
  let again: QueueClaim[] = [];
  after.push(async () => {
    again = await queue.claim(capacityOf(3));
    end();
  });

  const settle = () => queue.settle([[released, { type: "release" }]]);
  await settle().catch(settle);

  expect(again).toMatchObject([{ seq: released.seq }]);
  expect(queue.underWay.get(released.seq)).toBe(again[0]);
  expect(await queue.claim(capacityOf(3))).toEqual([]);
});

test("all that was claimed without an answer is given back at once", async () => {
  const { queue, append } = setUp(150);
  await append();
  expect(await queue.claim(capacityOf(150))).toHaveLength(150);
  queue.underWay.clear();

  await queue.giveBackUnknown();
  expect(await queue.claim(capacityOf(150))).toHaveLength(150);
});
