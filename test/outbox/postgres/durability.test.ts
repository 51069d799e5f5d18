import type { PostgresPool } from "express-affiliate/postgres";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { REJECTED, retryIn, Stage } from "../../contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { trackerWithLines } from "../../helpers/tracker.js";

describeWithPostgres("postgresOutbox", (database) => {
  const { create, reopen } = database;
  const poolWith = (setting: string) => database.pool({ options: `-c synchronous_commit=${setting}` });

  /** A pool with this default, and what each of its commits that writes goes by. */
  function watched(setting: string) {
    const said = new Set<string>();
    const pool = poolWith(setting);
    const note = async (client: pg.PoolClient) =>
      said.add((await client.query("show synchronous_commit")).rows[0].synchronous_commit);
    const connect: PostgresPool["connect"] = (callback) =>
      pool.connect((error, client) => {
        if (!client) return callback(error, undefined);
        const queryNoted = async (config: pg.QueryConfig) => {
          if (config.text === "commit") await note(client);
          return client.query(config);
        };
        callback(undefined, Object.assign(Object.create(client), { query: queryNoted }));
      });
    return { pool: Object.assign(Object.create(pool), { connect }) as PostgresPool, said };
  }

  test.each([
    ["off", "on"],
    ["local", "on"],
    ["remote_write", "on"],
    ["remote_apply", "remote_apply"],
  ])(
    "whatever is stored under %s is on the disk before it counts: its commits go by %s",
    async (setting, used) => {
      await (await create()).close();
      const { pool, said } = watched(setting);
      await using stage = await Stage.open(() => reopen({ pool, maxEvents: 3 }));
      await stage.giveUp([sample("payment")]);
      const [letter] = await stage.outbox.deadLetters.list();
      await stage.outbox.deadLetters.retry(letter?.id as string);
      (await stage.delivery.next()).settle(retryIn(1));
      (await stage.delivery.next()).settle({ type: "dead", ...REJECTED });
      await expect.poll(() => stage.outbox.counts().dead.rejected).toBe(1);
      await stage.outbox.deadLetters.discard(letter?.id as string);
      await stage.pause();
      await stage.add(sample("click"), sample("click"), sample("click"), sample("payment"));
      await stage.outbox.erase({ email: "nobody@shop.example" });

      expect([...said]).toEqual([used]);
    },
  );

  test.each(["off", "on", "remote_apply"])(
    "a report in the host's own transaction leaves its setting: %s",
    async (setting) => {
      const outbox = await create();
      const host = await database.begin(undefined, poolWith(setting));
      await outbox.add(sample("payment"), host);
      expect(await host.run("show synchronous_commit")).toEqual([{ synchronous_commit: setting }]);
      await host.end("commit");
    },
  );

  describe("what the setting lets the host's own transaction lose", () => {
    const withSetting = (setting: string) => create({ pool: poolWith(setting) });

    test("is logged if a crash of the server takes it", async () => {
      const { lines } = trackerWithLines({ outbox: await withSetting("off") });

      await expect.poll(() => lines).toHaveLength(1);
      expect(lines[0]).toContain(
        "postgresOutbox: synchronous_commit is off: if the server crashes, your own transaction may be lost with its report",
      );
    });

    test.each(["on", "remote_apply", "remote_write", "local"])("is nothing if it is %s", async (setting) => {
      expect(await (await withSetting(setting)).cautions()).toEqual([]);
    });
  });
});
