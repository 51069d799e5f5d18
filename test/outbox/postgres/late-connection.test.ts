import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import type { PostgresClient, PostgresPool } from "../../../src/outbox/postgres/database.js";
import { openDatabase } from "../../../src/outbox/postgres/database.js";

const time = vi.hoisted(() => ({
  now: 0,
  sleeping: [] as (() => void)[],
  /** All at once, as for a process that stands still: then what is due runs. */
  async pass(ms: number) {
    time.now += ms;
    for (const wake of time.sleeping.splice(0)) wake();
    await new Promise(setImmediate);
  },
}));

vi.mock("../../../src/shared/real-timers.js", async (original) => ({
  ...(await original<object>()),
  monotonic: () => time.now,
  sleep: () => new Promise<void>((wake) => void time.sleeping.push(wake)),
}));

/** An outbox's database whose pool lends no connection before it is told to. */
function open() {
  const release = vi.fn();
  const client = Object.assign(new EventEmitter(), { query: vi.fn(), release });
  let lend: () => void = () => {};
  const pool: PostgresPool = {
    connect(callback) {
      lend = () => callback(undefined, client as PostgresClient);
    },
    on: vi.fn(),
    removeListener: vi.fn(),
  };
  const ready = openDatabase(pool, { schema: "affiliate", migrate: false }).ready();
  return { client, release, ready, lend: () => lend() };
}

test("a connection that the pool lends after the outbox has given up goes back to it", async () => {
  const { client, release, ready, lend } = open();
  const rejected = expect(ready).rejects.toMatchObject({ code: "ERR_AFFILIATE_POSTGRES_SILENT" });
  for (let passed = 0; passed < 30; passed++) await time.pass(1_000);
  await rejected;

  lend();
  await new Promise(setImmediate);

  expect(release.mock.calls).toEqual([[false]]);
  expect(client.listenerCount("error")).toBe(0);
  expect(client.query).not.toHaveBeenCalled();
});

test("a server has its time to answer also if the process stands still meanwhile", async () => {
  const { client, ready, lend } = open();
  ready.catch(() => {});
  await time.pass(600_000);

  lend();
  await new Promise(setImmediate);

  // A time limit of the driver's own would be over.
  const ownLimit = expect.objectContaining({ query_timeout: expect.anything() });
  expect(client.query).toHaveBeenCalled();
  expect(client.query).not.toHaveBeenCalledWith(ownLimit);
});
