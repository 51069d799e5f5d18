import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import type { Deliver } from "../../../src/outbox/claim.js";
import { sqlOptions } from "../../../src/outbox/queue/options.js";
import { createQueueOutbox } from "../../../src/outbox/queue/queue-outbox.js";
import { readOptions } from "../../../src/shared/read-options.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { deliveringAll } from "../../helpers/deliver.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { sqliteServer } from "../../helpers/sqlite-server.js";

/** An outbox as over a server, and what its listeners are told. */
function start(deliver: (told: string[]) => Deliver, given = {}) {
  const clock = new FakeClock();
  const { database } = sqliteServer();
  const outbox = createQueueOutbox(
    "any",
    readOptions("anyOutbox", z.strictObject(sqlOptions), given),
    clock,
    database,
  );
  onTestFinished(() => outbox.close());
  const told: string[] = [];
  outbox.bind(DESTINATION);
  outbox.start(deliver(told), {
    dropped: ({ id }, reason) => told.push(`${reason} ${id}`),
    degraded: ({ message }) => told.push(message),
    recovered() {},
  });
  return { clock, outbox, told };
}

test("reports in transactions that follow one another closely are sent meanwhile", async () => {
  const { clock, outbox } = start(() => deliveringAll());
  for (let nth = 0; nth < 50; nth++) {
    await outbox.add(sample("payment"), { transaction: {} });
    await clock.pass(12);
    await outbox.look();
    if (nth > 10) expect(outbox.counts().queued).toBeLessThan(10);
  }
});
