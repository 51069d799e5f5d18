import { once } from "node:events";
import { existsSync } from "node:fs";
import type { PostgresPool } from "express-affiliate/postgres";
import type pg from "pg";
import { expect, test } from "vitest";
import { startPgBouncer } from "../../../proof/frameworks/pgbouncer.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";

const PGBOUNCER = "/usr/sbin/pgbouncer";
const CODE = "ERR_AFFILIATE_POSTGRES_LISTEN";

describeWithPostgresServer("an outbox that listens", (database) => {
  const { create, reopen, sql } = database;

  async function warnings(body: () => Promise<void>): Promise<string[]> {
    const codes: string[] = [];
    const note = (warning: Error & { code?: string }) => codes.push(warning.code ?? warning.message);
    process.on("warning", note);
    try {
      await body();
    } finally {
      process.removeListener("warning", note);
    }
    return codes;
  }

  async function expectFallback(pool: PostgresPool, own: pg.Pool) {
    await (await create()).close();
    const told = await warnings(async () => {
      await using stage = await Stage.open(() => reopen({ pool }));
      stage.start();
      const [warning] = await once(process, "warning");
      expect(warning).toMatchObject({ code: CODE, message: expect.stringContaining("listen: false") });
      const event = sample("payment");
      const other = await reopen();
      await other.add(event);
      await stage.delivers(event);
      await stage.empty();
    });
    expect(told).toEqual([CODE]);
    await expect.poll(() => own.totalCount - own.idleCount).toBe(0);
  }

  test("says once that no notification arrives, gives its connection back, and finds events by looking", async () => {
    const pool = database.pool();
    const deaf: PostgresPool = {
      query: (config) => pool.query(config),
      on: (event, listener) => pool.on(event, listener),
      removeListener: (event, listener) => pool.removeListener(event, listener),
      connect: (callback) =>
        pool.connect((error, client) => {
          if (!client) return callback(error, undefined);
          callback(undefined, {
            query: (text) => client.query(text),
            on: (event, listener) =>
              event === "notification" ? client : client.on(event as "error", listener),
            removeListener: (event, listener) => client.removeListener(event, listener),
            release: (destroy) => client.release(destroy),
          });
        }),
    };
    await expectFallback(deaf, pool);
  });

  test.skipIf(!existsSync(PGBOUNCER))(
    "says so, and works, through PgBouncer in transaction mode",
    async () => {
      const bouncer = await startPgBouncer(database.cluster);
      const pool = database.pool({ port: bouncer.port });

      await expectFallback(pool, pool);

      await bouncer.stop();
    },
  );

  test("says nothing if they arrive", async () => {
    const told = await warnings(async () => {
      await using stage = await Stage.open(() => create({ pollMs: 3_600_000 }));
      const [{ now }] = await sql("select now()");
      stage.start();
      const called = "select from pg_stat_activity where query like '%pg_notify($1%' and query_start > $1";
      await expect.poll(() => sql(called, [now])).not.toHaveLength(0);
      const host = await database.begin();
      const event = sample("payment");
      await stage.outbox.add(event, host);
      await host.end("commit");
      await stage.delivers(event);
    });
    expect(told).toEqual([]);
  });
});
