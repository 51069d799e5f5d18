import { once } from "node:events";
import { createInterface } from "node:readline";
import type { PostgresPool } from "express-affiliate/postgres";
import { expect, test } from "vitest";
import { sample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { run } from "../../helpers/deliver.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";
import { runNode, userProject } from "../../helpers/user-project.js";

const VICTIM = `
import { affiliate } from "express-affiliate";
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";
import { createServer } from "node:http";

const [connectionString, schema] = process.argv.slice(2);
const service = createServer((req) => req.resume().on("end", () => console.log(req.url))).listen(0, "127.0.0.1", () => {
  const tracker = affiliate({
    baseUrl: "http://127.0.0.1:" + service.address().port,
    clientId: 1,
    outbox: postgresOutbox({ pool: new pg.Pool({ connectionString }), schema, leaseMs: 1_000 }),
  });
  tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "one" });
  tracker.trackPayment({ paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 }, { clickId: "two" });
  tracker.trackPayment({ paymentId: 2, customerEmail: "ann@shop.example", leadValue: 9 }, { clickId: "two" });
});
`;

describeWithPostgresServer("faults", (database) => {
  const { create, reopen, sql } = database;

  test("what is reported while the server is away waits in memory, and goes in once it is back", async () => {
    const outbox = await create();
    const { delivered, said } = run(outbox);
    const visitor = stranger();
    const events = Array.from({ length: 5 }, () => sample("payment", visitor));
    const [before, ...during] = events as [(typeof events)[0], ...typeof events];
    await outbox.add(before);
    // Written down, too: else its verdict waits in memory with the rest.
    await expect.poll(() => outbox.counts().queued).toBe(0);

    await database.cluster.halt("immediate");
    for (const event of during) expect(await outbox.add(event)).toBe("in-memory");
    expect(outbox.durable).toBe(false);
    expect(outbox.counts()).toMatchObject({ queued: 4, trouble: expect.any(String) });
    await database.cluster.resume();

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual(events.map(({ id }) => id));
    expect(outbox.durable).toBe(true);
    expect(outbox.counts().trouble).toBeUndefined();
    expect(said).toEqual(["degraded", "recovered"]);
    await outbox.close();
  });

  test("an event waits in memory while the server does not answer, and its receipt is there within a second", async () => {
    const outbox = await create();
    const { delivered, said } = run(outbox);
    const events = [sample("payment"), sample("payment")];

    database.cluster.suspend();
    try {
      for (const event of events) expect(await outbox.add(event)).toBe("in-memory");
      expect(outbox.durable).toBe(false);
      expect(outbox.counts().queued).toBe(2);
    } finally {
      database.cluster.wake();
    }

    await expect.poll(() => [...delivered].sort()).toEqual(events.map(({ id }) => id).sort());
    expect(outbox.durable).toBe(true);
    expect(said).toEqual([]);
    await outbox.close();
  });

  test("a report in a transaction waits as long as the host's database does", async () => {
    const outbox = await create();
    await outbox.add(sample("click"));
    let answer: (result: { rows: unknown[] }) => void = () => {};
    const transaction = {
      query: () =>
        new Promise<{ rows: unknown[] }>((resolve) => {
          answer = resolve;
        }),
    };
    let receipt: string | undefined;
    const added = outbox.add(sample("payment"), { transaction }).then((outcome) => {
      receipt = outcome;
    });
    await sql("select pg_sleep(1.2)");
    expect(receipt).toBeUndefined();

    answer({ rows: [{ found: 1 }] });
    await new Promise(setImmediate);
    answer({ rows: [{ outcome: "queued" }] });

    await added;
    expect(receipt).toBe("queued");
    await outbox.close();
  });

  test("a report in a transaction fails with the transaction when the server goes away", async () => {
    const outbox = await create();
    const client = await database.pool().connect();
    client.on("error", () => {});
    await client.query("begin");
    await database.cluster.halt("immediate");

    await expect(outbox.add(sample("payment"), { transaction: client })).rejects.toThrow();

    client.release(true);
    await database.cluster.resume();
    await outbox.close();
  });

  test("goes on when every connection is cut, the one that listens included", async () => {
    const outbox = await create({ pool: database.pool() });
    const { delivered } = run(outbox);
    await expect.poll(() => sql("select from pg_stat_activity where query like 'listen%'")).toHaveLength(1);

    await sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()").catch(
      () => {},
    );
    const event = sample("payment");
    await outbox.add(event);

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual([event.id]);
    await expect
      .poll(() => sql("select from pg_stat_activity where query like 'listen%'"), { timeout: 15_000 })
      .toHaveLength(1);
    await outbox.close();
  });

  test("claims again, as new, what it claimed in an answer that was lost", async () => {
    const pool = database.pool();
    let loses = true;
    const lossy: PostgresPool = Object.assign(Object.create(pool), {
      async query(config: { text: string; values?: unknown[] }) {
        const result = await pool.query(config);
        if (!loses || !config.text.includes("claim(") || result.rows.length === 0) return result;
        loses = false;
        throw new Error("Connection terminated unexpectedly");
      },
    });
    const outbox = await create({ pool: lossy });
    const { delivered } = run(outbox);
    const event = sample("payment");
    await outbox.add(event);

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual([event.id]);
    expect(loses).toBe(false);
    await outbox.close();
  });

  test("an event taken over, and given back untried, is as much in doubt as before", async () => {
    const event = sample("payment");
    const dead = await create();
    await dead.add(event);
    await sql("update $schema.events set claimed_by = gen_random_uuid(), claimed_until = now()");
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

  test("a delivery that takes longer than the lease stays with its process", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }));
    stage.start();
    await stage.add(sample("payment"));
    const underWay = await stage.delivery.next();
    const [{ due }] = await sql("select claimed_until::text as due from $schema.events");
    await using other = await Stage.open(() => reopen({ leaseMs: 1_000 }));
    other.start();

    await expect
      .poll(() => sql("select now() > $1::timestamptz as over", [due]), { timeout: 5_000 })
      .toEqual([{ over: true }]);
    await expect
      .poll(() => sql("select claimed_until > $1::timestamptz as renewed from $schema.events", [due]))
      .toEqual([{ renewed: true }]);
    expect(underWay.live.isHeld?.()).toBe(true);
    underWay.settle({ type: "delivered" });
    await stage.empty();
    expect(other.delivery.ids).toEqual([]);
  });

  test("takes over from a process that was killed: its payment under way is held, its click goes out again", async () => {
    await (await create()).close();
    const project = await userProject({ "victim.mjs": VICTIM }, ["express", "pg"]);
    const victim = runNode(project, ["victim.mjs", database.cluster.connectionString, database.schema]);
    const lines = createInterface({ input: victim.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    const paths = [(await lines.next()).value, (await lines.next()).value];
    expect(paths.map((path) => path.split("/").at(-1)).sort()).toEqual(["click", "payment"]);
    victim.kill("SIGKILL");
    await once(victim, "exit");

    await using stage = await Stage.open(() => reopen(), 1);
    stage.start();
    const taken = [await stage.delivery.next(), await stage.delivery.next()];

    expect(taken.map(({ live }) => [live.event.kind, live.interrupted]).sort()).toEqual([
      ["click", true],
      ["payment", true],
    ]);
    for (const { settle } of taken) settle({ type: "delivered" });
    const { live } = await stage.delivery.next();
    expect(live).toMatchObject({ interrupted: false, event: { kind: "payment" } });
  });
});
