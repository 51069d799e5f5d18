import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import type { Deliver } from "../../../src/outbox/outbox.js";
import { createClaims } from "../../../src/outbox/queue/claims.js";
import { type Database, Scope } from "../../../src/outbox/queue/database.js";
import { sqlOptions } from "../../../src/outbox/queue/options.js";
import { createQueueOutbox } from "../../../src/outbox/queue/queue-outbox.js";
import { systemClock } from "../../../src/shared/clock.js";
import { readOptions } from "../../../src/shared/read-options.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { REJECTED } from "../../contract/stage.js";
import { delivering, deliveringAll } from "../../helpers/deliver.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { sqliteServer } from "../../helpers/sqlite-server.js";
import { withResolvers } from "../../helpers/with-resolvers.js";

/** An outbox as over a server, and what its listeners are told. */
function start(deliver: (told: string[]) => Deliver, given = {}, { database } = sqliteServer()) {
  const clock = new FakeClock();
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

/** Gives all events up, and tells of each. */
const givingUp = (to: string[]) =>
  delivering(
    async () => ({ type: "dead", ...REJECTED }),
    () => 8,
    ({ id }) => to.push(`dead ${id}`),
  );

test("reports in transactions that follow one another closely are sent meanwhile", async () => {
  const { clock, outbox } = start(() => deliveringAll());
  for (let nth = 0; nth < 50; nth++) {
    await outbox.add(sample("payment"), { transaction: {} });
    await clock.pass(12);
    await outbox.look();
    if (nth > 10) expect(outbox.counts().queued).toBeLessThan(10);
  }
});

test("an outbox repairs its queues though its server does not tell the settings", async () => {
  const server = sqliteServer();
  let repairs = 0;
  const rows: Database["rows"] = (text, values) => {
    repairs += Number(text.includes("max(visitor)"));
    return server.database.rows(text, values);
  };
  const database = { ...server.database, rows, cautions: () => Promise.reject(new Error("Access denied")) };
  const { clock } = start(() => deliveringAll(), {}, { ...server, database });
  await clock.pass(130_000);
  expect(repairs).toBeGreaterThan(1);
});

test("a dead letter is told to be dropped only after it is told to be one", async () => {
  const { clock, outbox, told } = start(givingUp, { maxDeadLetters: 1 });
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

test("beyond its bounds, as after a restore, an outbox drops no more dead letters than come", async () => {
  const server = sqliteServer();
  const [first, second] = [start(givingUp, {}, server), start(givingUp, { maxDeadLetters: 2 }, server)];
  for (const { outbox, clock } of [first, first, first, first, first, second]) {
    await outbox.look();
    await outbox.add(sample("payment"));
    await clock.pass(1_000);
  }

  expect(second.told.filter((each) => each.startsWith("dead-letters-full"))).toHaveLength(1);
  expect(await second.outbox.deadLetters.list()).toHaveLength(5);
});

test("no dead letter is dropped because the server counted some while they came", async () => {
  const server = sqliteServer();
  const { database } = server;
  const settled = withResolvers();
  const rows: typeof database.rows = async (text, values) => {
    if (text.includes("group by destination, state")) await settled.promise;
    return database.rows(text, values);
  };
  const slow = { ...server, database: { ...database, rows } };
  const { clock, outbox, told } = start(givingUp, { maxDeadLetters: 3 }, slow);
  for (let nth = 0; nth < 3; nth++) {
    await outbox.add(sample("payment"));
    await clock.pass(nth === 2 ? 1_000 : 100);
    if (nth === 1) settled.resolve();
  }

  expect(told.map((each) => each.split(" ")[0])).toEqual(["dead", "dead", "dead"]);
});

test.each([
  { left: [4], claimed: 4, rounds: 1 },
  { left: [1, 3], claimed: 4, rounds: 2 },
  { left: [1, 1, 1, 1], claimed: 2, rounds: 2 },
  { left: [0, 0, 1, 1], claimed: 1, rounds: 3 },
])(
  "a claim that another process is faster than looks on until it has something, and once more: $left",
  async ({ left, claimed, rounds }) => {
    const server = sqliteServer();
    const { outbox } = start(() => deliveringAll(() => 0), {}, server);
    for (let nth = 0; nth < 20; nth++) await outbox.add(sample("click"));
    let begun = 0;
    const { transaction } = server.database;
    // The other process takes all of a round but these.
    const beside: Database["transaction"] = (work) =>
      transaction((tx) => {
        const own = left[begun++] ?? 0;
        return work({ ...tx, rows: async (...asked) => (await tx.rows(...asked)).slice(0, own) as never });
      });
    const claim = createClaims(
      { ...server.database, transaction: beside },
      {
        ...{ worker: "me", scope: new Scope(), leaseMs: 60_000, clock: systemClock, underWay: new Map() },
        ...{ serverClock: { tell() {} } as never, chores: {} as never, giveUp: async () => {} },
      },
    );
    expect(await claim({ limit: 4, lanes: [{ endpoint: "click", limit: 4 }] })).toHaveLength(claimed);
    expect(begun).toBe(rounds);
  },
);
