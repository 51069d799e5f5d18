import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/postgres/database.js";
import { forgetOld } from "../../../src/outbox/postgres/upkeep.js";
import { describeWithPostgres, virtualPool } from "../../helpers/postgres.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describeWithPostgres("a PostgreSQL server whose clock is set", (database) => {
  testServerClocks({
    async open({ isFirst, server, clock, ...timing }) {
      const pool = virtualPool(database.pool(), server);
      const open = isFirst ? database.create : database.reopen;
      const outbox = await open({ pool, listen: false, ...timing }, clock);
      return { outbox, settled: pool.settled };
    },
    claimAll: (at, until) =>
      database.sql(
        `update $schema.events
         set claimed_by = gen_random_uuid(), written_at = to_timestamp($1), claimed_until = to_timestamp($2)`,
        [at, until].map((ms) => ms / 1_000),
      ),
  });

  test("ahead: the time by which ids are forgotten moves at most twice as fast as time passes, however many processes there are", async () => {
    await (await database.create()).close();
    const began = Date.now();
    const server = { time: began, now: () => server.time };
    const { schema } = database;
    const opened = openDatabase(virtualPool(database.pool(), server), { schema, migrate: false });
    const forget = () => forgetOld(opened, `"${schema}"`, 30 * DAY_MS);
    const ofAll = () => Promise.all(Array.from({ length: 8 }, forget));
    const passed = async () => {
      const [row] = await database.sql(
        "select (extract(epoch from at) * 1000)::float8 as at from $schema.clock",
      );
      return Math.round(Number(row?.at) - began);
    };
    await ofAll();
    expect(await passed()).toBe(0);

    server.time += 31 * DAY_MS;
    await ofAll();
    expect(await passed()).toBe(2 * MINUTE_MS);
    server.time += MINUTE_MS / 2;
    await ofAll();
    expect(await passed()).toBe(3 * MINUTE_MS);

    server.time = began + 4 * MINUTE_MS;
    await ofAll();
    expect(await passed()).toBe(3 * MINUTE_MS);
    server.time += MINUTE_MS;
    await ofAll();
    expect(await passed()).toBe(5 * MINUTE_MS);
  });
});
