import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test, vi } from "vitest";
import { type Clock, systemClock } from "../../../src/shared/clock.js";
import { retryIn } from "../../contract/recorder.js";
import { idsOf, sample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { run } from "../../helpers/deliver.js";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";
import type { OwnServer } from "../../helpers/own-server.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";
import type { SqlDatabase } from "../../helpers/sql-database.js";
import { runNode, userProject } from "../../helpers/user-project.js";

const HOUR_MS = 3_600_000;

/** Modules that export `outboxOf`. */
const POSTGRES = `
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";

export const outboxOf = (connectionString, schema) =>
  postgresOutbox({ pool: new pg.Pool({ connectionString }), schema, leaseMs: 1_000 });
`;
const MARIADB = `
import { mysqlOutbox } from "express-affiliate/mysql";
import mysql from "mysql2/promise";

export const outboxOf = (uri, prefix) => mysqlOutbox({ pool: mysql.createPool(uri), prefix, leaseMs: 1_000 });
`;

/** A host that reports a click and two payments to a service that never answers. */
const VICTIM = `
import { affiliate } from "express-affiliate";
import { outboxOf } from "./outbox.mjs";
import { createServer } from "node:http";

const outbox = outboxOf(...process.argv.slice(2));
const service = createServer((req) => req.resume().on("end", () => console.log(req.url))).listen(0, "127.0.0.1", () => {
  const tracker = affiliate({ baseUrl: "http://127.0.0.1:" + service.address().port, clientId: 1, outbox });
  tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "one" });
  tracker.trackPayment({ paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 }, { clickId: "two" });
  tracker.trackPayment({ paymentId: 2, customerEmail: "ann@shop.example", leadValue: 9 }, { clickId: "two" });
});
`;

/** What processes and either database's server may do at the worst moment. */
function testFaults(
  database: SqlDatabase,
  victim: { readonly program: string; readonly driver: string; readonly args: () => readonly string[] },
): void {
  const { create, reopen, sql, begin, claimAll } = database;
  const server = () => database.own as OwnServer;

  test("an event waits in memory while the server does not answer, and its receipt is there within a second", async () => {
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

  test("an event taken over, and given back untried, is as much in doubt as before", async () => {
    const event = sample("payment");
    const dead = await create();
    await dead.add(event);
    await claimAll(1);
    await dead.close();
    {
      await using stage = await Stage.open(() => reopen());
      stage.start();
      expect((await stage.delivery.next()).live.interrupted).toBe(true);
    }

    await using stage = await Stage.open(() => reopen());
    stage.start();
    expect((await stage.delivery.next()).live).toMatchObject({ event, interrupted: true });
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

    await expect.poll(() => free.live.isHeld?.()).toBe(true);
    expect(locked.live.isHeld?.()).toBe(false);
    await host.end("commit");
    await expect.poll(() => locked.live.isHeld?.()).toBe(true);
  });

  test("a process finds out what another one has taken over, and of that a delivery counts, and no other word", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }));
    const released = await stage.handOver(sample("payment"));
    const tried = await stage.handOver(sample("payment"));
    const delivered = await stage.handOver(sample("payment"));
    await claimAll(Date.now() + HOUR_MS);
    const kept = await stage.handOver(sample("payment"));
    await expect.poll(() => delivered.live.isHeld?.()).toBe(false);
    expect(kept.live.isHeld?.()).toBe(true);

    released.settle({ type: "release" });
    tried.settle(retryIn(0));
    delivered.settle({ type: "delivered" });
    kept.settle({ type: "delivered" });
    await stage.holds(2);

    const left = await sql("select history from $queued where claimed_by is not null");
    expect(left).toEqual([{ history: null }, { history: null }]);
  });

  test("takes over from a process that was killed: its payment under way is held, its click goes out again", async () => {
    await (await create()).close();
    const files = { "victim.mjs": VICTIM, "outbox.mjs": victim.program };
    const project = await userProject(files, ["express", victim.driver]);
    const child = runNode(project, ["victim.mjs", ...victim.args()]);
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    const paths = [(await lines.next()).value, (await lines.next()).value];
    expect(paths.map((path) => path.split("/").at(-1)).sort()).toEqual(["click", "payment"]);
    child.kill("SIGKILL");
    await once(child, "exit");

    await using stage = await Stage.open(() => reopen(), 1);
    stage.start();
    const taken = await stage.take(2);

    expect(taken.map(({ live }) => [live.event.kind, live.interrupted]).sort()).toEqual([
      ["click", true],
      ["payment", true],
    ]);
    for (const { settle } of taken) settle({ type: "delivered" });
    const { live } = await stage.delivery.next();
    expect(live).toMatchObject({ interrupted: false, event: { kind: "payment" } });
  });
}

describeWithMariaDbServer("faults of MariaDB and of processes on it", (database) =>
  testFaults(database, {
    program: MARIADB,
    driver: "mysql2",
    args: () => [database.server.uri, database.prefix],
  }),
);

describeWithPostgresServer("faults of PostgreSQL and of processes on it", (database) => {
  const { create, sql } = database;

  testFaults(database, {
    program: POSTGRES,
    driver: "pg",
    args: () => [database.cluster.connectionString, database.schema],
  });

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

  test("goes on when every connection is cut, the one that listens included", async () => {
    const outbox = await create({ pool: database.pool() });
    const { delivered } = run(outbox);
    const listening = () => sql("select from pg_stat_activity where query like 'listen%'");
    await expect.poll(listening).toHaveLength(1);

    const others = "from pg_stat_activity where pid <> pg_backend_pid()";
    await sql(`select pg_terminate_backend(pid) ${others}`).catch(() => {});
    const event = sample("payment");
    await outbox.add(event);

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual([event.id]);
    await expect.poll(listening, { timeout: 15_000 }).toHaveLength(1);
  });
});
