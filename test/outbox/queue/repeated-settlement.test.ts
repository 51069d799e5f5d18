import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDialect } from "../../../src/outbox/disk/file/dialect.js";
import { openFile } from "../../../src/outbox/disk/file/file.js";
import { createCounts } from "../../../src/outbox/queue/counts.js";
import type { Database } from "../../../src/outbox/queue/database.js";
import { createQueue } from "../../../src/outbox/queue/queue.js";
import { Scope } from "../../../src/outbox/queue/scope.js";
import type { Settlement } from "../../../src/outbox/queue/settle.js";
import { systemClock } from "../../../src/shared/clock.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { capacityOf } from "../../helpers/deliver.js";
import { engine } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

test("what is settled again, because a revival failed after its commit, is counted once", async () => {
  const file = openFile(join(scratchDirectory(), "outbox.db"), { engine, maxBytes: 2 ** 26 });
  onTestFinished(() => file.close());
  const dialect = createDialect(() => Date.now());
  dialect.use(file.db);
  let transactionsUntilFailure = Number.POSITIVE_INFINITY;
  // As a server: each call is a transaction of its own.
  const database: Database = {
    ...dialect,
    rows: (...asked) => dialect.pass(() => dialect.rows(...asked)),
    write: (...asked) => dialect.pass(() => dialect.write(...asked)),
    async transaction(work) {
      if (transactionsUntilFailure-- === 0) throw new Error("the connection was lost");
      return dialect.pass(() => work(dialect));
    },
  };
  const scope = new Scope(DESTINATION);
  const counts = createCounts(async () => [], scope);
  const queue = createQueue(database, {
    ...{ leaseMs: 60_000, rememberMs: 60_000, counts, scope, clock: systemClock },
    ...{ maxDeadLetters: 10, maxDeadLetterBytes: 10_000, wake() {}, onDropped() {} },
  });
  const incoming = Array.from({ length: 3 }, () => ({ event: sample("payment"), report: "report" }));
  await queue.append(incoming);
  const [delivered, released] = await queue.claim(capacityOf(2));
  if (!delivered || !released) throw new Error("nothing was claimed");
  released.leasedSince = undefined;
  const settled: Settlement[] = [
    [delivered, { type: "delivered" }],
    [released, { type: "release" }],
  ];

  transactionsUntilFailure = 1;
  await expect(queue.settle(settled)).rejects.toThrow("the connection was lost");
  await queue.settle(settled);
  expect(counts.queued()).toBe(2);
});
