import { expect, test, vi } from "vitest";
import { receiptTimes } from "../../../src/outbox/fallback.js";
import { type Clock, systemClock } from "../../../src/shared/clock.js";
import { idsOf, sample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";
import type { OwnServer } from "../../helpers/own-server.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";
import type { SqlDatabase } from "../../helpers/sql-database.js";

/** What processes and either database's server may do at the worst moment. */
function testFaults(database: SqlDatabase): void {
  const { create, sql, begin } = database;
  const server = () => database.own as OwnServer;

  test("an event waits in memory while the server does not answer, and its receipt is there within a second", async () => {
    receiptTimes.withinMs = 1_000;
    await using stage = await Stage.open(() => create());
    (await stage.handOver(sample("click"))).settle({ type: "delivered" });
    await stage.empty();
    const events = [sample("payment"), sample("payment")];

    server().suspend();
    try {
      for (const event of events) expect(await stage.outbox.add(event)).toBe("in-memory");
      expect(stage.outbox.durable).toBe(false);
      expect(stage.outbox.counts().queued).toBe(2);
    } finally {
      server().wake();
    }

    expect(idsOf(await stage.take(2)).sort()).toEqual(idsOf(events).sort());
    await expect.poll(() => stage.outbox.durable).toBe(true);
  });

  test("while the server is down a report in a transaction fails with it; others wait in memory, and are sent in order once it is back", async () => {
    await using stage = await Stage.open(() => create());
    stage.delivery.expectsFailures = true;
    stage.start();
    const visitor = stranger();
    const events = Array.from({ length: 4 }, () => sample("payment", visitor));
    const host = await begin();
    await server().halt("immediate");

    await expect(stage.outbox.add(sample("payment"), host)).rejects.toThrow();
    for (const event of events) expect(await stage.outbox.add(event)).toBe("in-memory");
    expect(stage.outbox.durable).toBe(false);
    await host.end("rollback").catch(() => {});
    await server().resume();

    await stage.delivers(...events);
    await expect.poll(() => stage.outbox.durable).toBe(true);
    expect(stage.outbox.counts().trouble).toBeUndefined();
  });

  test("a lease is renewed without waiting for another visitor's row, and what is locked is not taken for lost", async () => {
    let wall = 0;
    const clock: Clock = { now: () => wall, monotonic: () => 0, after: systemClock.after };
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }, clock));
    const locked = await stage.handOver(sample("payment"));
    const free = await stage.handOver(sample("payment"));
    const host = await begin();
    const [row] = await sql(`select visitor from $queued where id = '${locked.id}'`);
    await host.run(`${database.lockQueue} where visitor = '${row.visitor}' for update`);
    wall = 900;

    await expect.poll(() => free.live.isLeased?.()).toBe(true);
    expect(locked.live.isLeased?.()).toBe(false);
    await host.end("commit");
    await expect.poll(() => locked.live.isLeased?.()).toBe(true);
  });
}

describeWithMariaDbServer("faults of MariaDB and of processes on it", testFaults);

describeWithPostgresServer("faults of PostgreSQL and of processes on it", (database) => {
  const { create, sql } = database;

  testFaults(database);

  test("a report in a transaction waits as long as the host's database does", async () => {
    const outbox = await create();
    await outbox.add(sample("click"));
    let answer = (_: { rows: unknown[] }) => {};
    const query = () => new Promise<{ rows: unknown[] }>((resolve) => (answer = resolve));
    const onReceipt = vi.fn();
    const added = outbox.add(sample("payment"), { transaction: { query } }).then(onReceipt);
    await sql("select pg_sleep(1.2)");
    expect(onReceipt).not.toHaveBeenCalled();

    // A savepoint, the insert, the savepoint's end.
    for (const rows of [[], [{ stored: 1 }], []]) {
      answer({ rows });
      await new Promise(setImmediate);
    }

    await added;
    expect(onReceipt).toHaveBeenCalledWith("queued");
  });
});
