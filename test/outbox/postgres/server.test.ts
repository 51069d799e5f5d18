import { expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { run } from "../../helpers/deliver.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

/** Servers, roles and tables that are not as the outbox needs them. */
describeWithPostgres("a server", (database) => {
  const { create, reopen, sql } = database;

  test("whose role lacks a right rejects with what to do; once it has the right, what waited is delivered", async () => {
    await (await create()).close();
    await sql(`
      create role clerk login;
      grant usage on schema $schema to clerk;
      grant select on $schema.migrations to clerk;
      grant select, insert, update, delete on $schema.queues to clerk;`);
    const outbox = await reopen({ pool: database.pool({ user: "clerk" }), migrate: false });

    await expect(outbox.look()).rejects.toMatchObject({ code: "ERR_AFFILIATE_POSTGRES_RIGHTS" });
    const { delivered, errors } = run(outbox);
    const event = sample("payment");
    expect(await outbox.add(event)).toBe("in-memory");
    const says = /permission denied for table events.*docs\/postgres\.md/;
    expect(errors).toMatchObject([{ message: expect.stringMatching(says) }]);
    expect(outbox.counts().trouble).toMatch(says);
    await sql("grant select, insert, update, delete on $schema.events to clerk");

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual([event.id]);
  });

  test("whose role may not make the tables rejects with the reason", async () => {
    await sql("create role guest login");
    database.schema = "not_made";

    await expect(reopen({ pool: database.pool({ user: "guest" }) })).rejects.toMatchObject({
      code: "ERR_AFFILIATE_POSTGRES_RIGHTS",
      message: expect.stringMatching(/permission denied for database.*migrations --schema not_made/),
    });
  });

  test("with a schema that an administrator made needs no right on the database", async () => {
    await sql("create role tenant login; create schema tenants authorization tenant");
    database.schema = "tenants";
    const outbox = await reopen({ pool: database.pool({ user: "tenant" }) });
    const { delivered } = run(outbox);
    const event = sample("payment");

    expect(await outbox.add(event)).toBe("queued");
    await expect.poll(() => delivered).toEqual([event.id]);
  });

  test.each(["repeatable read", "serializable"])("is used as ever if its default is %s", async (level) => {
    const pool = database.pool({ options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}` });
    const outbox = await create({ pool });
    const { delivered } = run(outbox);
    const event = sample("payment");

    expect(await outbox.add(event)).toBe("queued");
    await expect.poll(() => delivered).toEqual([event.id]);
  });
});
