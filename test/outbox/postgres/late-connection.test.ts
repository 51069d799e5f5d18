import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import type { PostgresClient, PostgresPool } from "../../../src/outbox/postgres/database.js";
import { openDatabase } from "../../../src/outbox/postgres/database.js";

const time = vi.hoisted(() => ({ up() {} }));

vi.mock("../../../src/shared/real-timers.js", async (original) => ({
  ...(await original<object>()),
  sleep: () =>
    new Promise<void>((resolve) => {
      time.up = resolve;
    }),
}));

test("a connection that the pool lends after the outbox has given up goes back to it", async () => {
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
  time.up();
  await expect(ready).rejects.toMatchObject({ code: "ERR_AFFILIATE_POSTGRES_SILENT" });

  lend();
  await new Promise(setImmediate);

  expect(release.mock.calls).toEqual([[false]]);
  expect(client.listenerCount("error")).toBe(0);
  expect(client.query).not.toHaveBeenCalled();
});
