import { expect, test, vi } from "vitest";
import { idsOf, sample, stranger } from "../../contract/samples.js";
import { run } from "../../helpers/deliver.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";
import { testFaults } from "../queue/faults.js";

const VICTIM = `
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";

export const outboxOf = (connectionString, schema) =>
  postgresOutbox({ pool: new pg.Pool({ connectionString }), schema, leaseMs: 1_000 });
`;

describeWithPostgresServer("postgresOutbox", (database) => {
  const { create, sql } = database;

  testFaults(database, {
    victim: {
      program: VICTIM,
      driver: "pg",
      args: () => [database.cluster.connectionString, database.schema],
    },
  });

  test("what is reported while the server is away waits in memory, and goes in once it is back", async () => {
    const outbox = await create();
    const { delivered, said } = run(outbox);
    const visitor = stranger();
    const before = sample("payment", visitor);
    const during = Array.from({ length: 4 }, () => sample("payment", visitor));
    await outbox.add(before);
    // Written down, too: else its verdict waits in memory with the rest.
    await expect.poll(() => outbox.counts().queued).toBe(0);

    await database.cluster.halt("immediate");
    for (const event of during) expect(await outbox.add(event)).toBe("in-memory");
    expect(outbox.durable).toBe(false);
    expect(outbox.counts()).toMatchObject({ queued: 4, trouble: expect.any(String) });
    await database.cluster.resume();

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual(idsOf([before, ...during]));
    expect(outbox.durable).toBe(true);
    expect(outbox.counts().trouble).toBeUndefined();
    expect(said).toEqual(["degraded", "recovered"]);
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

    // A savepoint, whether it is known, the insert, the savepoint's end.
    for (const rows of [[], [], [{ stored: 1 }], []]) {
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
