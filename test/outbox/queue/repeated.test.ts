import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDialect } from "../../../src/outbox/disk/file/dialect.js";
import { openFile } from "../../../src/outbox/disk/file/file.js";
import { createCounts } from "../../../src/outbox/queue/counts.js";
import type { Database } from "../../../src/outbox/queue/database.js";
import { createQueue } from "../../../src/outbox/queue/queue.js";
import { DEAD, DONE, SCHEDULED } from "../../../src/outbox/queue/rows.js";
import { Scope } from "../../../src/outbox/queue/scope.js";
import type { Settlement } from "../../../src/outbox/queue/settle.js";
import { systemClock } from "../../../src/shared/clock.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { capacityOf } from "../../helpers/deliver.js";
import { engine } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

/** A queue over a database whose calls are transactions of their own, as a server's are. */
function setUp() {
  const { db, close } = openFile(join(scratchDirectory(), "outbox.db"), { engine, maxBytes: 2 ** 26 });
  onTestFinished(() => close());
  const dialect = createDialect(() => Date.now());
  dialect.use(db);
  const left = { transactions: Number.POSITIVE_INFINITY };
  const database: Database = {
    ...dialect,
    rows: (...asked) => dialect.pass(() => dialect.rows(...asked)),
    write: (...asked) => dialect.pass(() => dialect.write(...asked)),
    async transaction(work) {
      if (left.transactions-- === 0) throw new Error("the connection was lost");
      return dialect.pass(() => work(dialect));
    },
  };
  const scope = new Scope(DESTINATION);
  const counts = createCounts(async () => [], scope);
  const queue = createQueue(database, {
    ...{ leaseMs: 60_000, rememberMs: 60_000, counts, scope, clock: systemClock },
    ...{ maxDeadLetters: 10, maxDeadLetterBytes: 10_000, wake() {}, onDropped() {} },
  });
  const incoming = Array.from({ length: 3 }, () => ({ event: sample("payment"), report: "the same" }));
  return {
    ...{ queue, counts, left },
    append: () => queue.append(incoming),
    heads: () => db.prepare("select count(*) as number from queues").get().number,
    leave: (state: number) => db.exec(`update events set state = ${state}; delete from queues`),
  };
}

const QUEUED = ["queued", "queued", "queued"];

test("an append that is repeated after a lost answer has stored its events once", async () => {
  const { append, heads } = setUp();
  expect([await append(), await append()]).toEqual([QUEUED, QUEUED]);
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

test("what is settled again, because a revival failed after its commit, is counted once", async () => {
  const { queue, counts, left, append } = setUp();
  await append();
  const [delivered, released] = await queue.claim(capacityOf(2));
  if (!delivered || !released) throw new Error("nothing was claimed");
  released.leasedSince = undefined;
  const settled: Settlement[] = [
    [delivered, { type: "delivered" }],
    [released, { type: "release" }],
  ];

  left.transactions = 1;
  await expect(queue.settle(settled)).rejects.toThrow("the connection was lost");
  await queue.settle(settled);
  expect(counts.queued()).toBe(2);
});
