import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import type { Deliver } from "../../../src/outbox/claim.js";
import { sqlOptions } from "../../../src/outbox/queue/options.js";
import { createQueueOutbox } from "../../../src/outbox/queue/queue-outbox.js";
import { readOptions } from "../../../src/shared/read-options.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { REJECTED } from "../../contract/stage.js";
import { delivering, deliveringAll } from "../../helpers/deliver.js";
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

test("a dead letter is told to be dropped only after it is told to be one", async () => {
  const { clock, outbox, told } = start(
    (to) =>
      delivering(
        async () => ({ type: "dead", ...REJECTED }),
        () => 8,
        ({ id }) => to.push(`dead ${id}`),
      ),
    { maxDeadLetters: 1 },
  );
  const events = Array.from({ length: 4 }, () => sample("payment"));
  await Promise.all(events.map((event) => outbox.add(event)));
  await clock.pass(1_000);

  const dropped = told.filter((each) => each.startsWith("dead-letters-full"));
  expect([told.length, dropped.length]).toEqual([7, 3]);
  for (const notice of dropped) {
    const death = notice.replace("dead-letters-full", "dead");
    expect(told.indexOf(death)).toBeLessThan(told.indexOf(notice));
    expect(told).toContain(death);
  }
});
