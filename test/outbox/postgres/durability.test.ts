import { describe, expect, test } from "vitest";
import type { Circuit } from "../../../src/outbox/circuits.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithPostgres, describeWithPostgresServer } from "../../helpers/postgres.js";
import { linesLogger, startTracker } from "../../helpers/tracker.js";

describeWithPostgres("durability", (database) => {
  const { create, reopen } = database;

  /**
   * Runs statements in one transaction of a connection whose default this is. Resolves to what its
   * commit goes by.
   */
  async function commitGoesBy(setting: string, text: string, values: unknown[] = []): Promise<string> {
    const client = await database.pool({ options: `-c synchronous_commit=${setting}` }).connect();
    await client.query("begin");
    await client.query(text.replaceAll("$schema", `"${database.schema}"`), values);
    const { rows } = await client.query("show synchronous_commit");
    await client.query("rollback");
    client.release();
    return rows[0].synchronous_commit;
  }

  const worker = "00000000-0000-0000-0000-000000000000";
  const statements = {
    "storing an event":
      "select $schema.append('{1}', array[gen_random_uuid()], '{click}', '{click}', '{a}', '{b}', '{0}', array['{}'], '{1}', 100, 'try')",
    claiming: `select $schema.claim(1, '${worker}', '1 minute', 1, '{}', '{1}', '[]', null, null, null)`,
    settling: `select $schema.settle(1, '${worker}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    shedding: "select $schema.shed(1, 2::smallint, 0::smallint, 'a', 'b')",
    "shedding a visitor's clicks": "select $schema.shed_clicks(1, 'a', 'b', 99)",
    "retrying a dead letter": "select $schema.revive(1, '{}', '{}', '{}', '{}', false)",
    "holding payments": 'select $schema.hold(\'{"reason": "unconfirmed"}\', 1)',
  };

  test.each(Object.entries(statements))(
    "%s is on the disk before it counts, whatever the default is",
    async (_, text) => {
      await (await create()).close();

      for (const weaker of ["off", "local", "remote_write"])
        expect(await commitGoesBy(weaker, text)).toBe("on");
      expect(await commitGoesBy("remote_apply", text)).toBe("remote_apply");
    },
  );

  test("a report in the host's own transaction leaves the host's setting", async () => {
    await (await create()).close();
    const text = `select $schema.enqueue(1, gen_random_uuid(), 'click', 'click', 'a', 'b', 0, '{}', 1::smallint, 100, null)`;

    for (const setting of ["off", "on", "remote_apply"])
      expect(await commitGoesBy(setting, text)).toBe(setting);
  });

  /**
   * A pool whose default is `off`, and the setting at the commit of each statement that matches
   * `words`.
   */
  function watchedPool(words: RegExp) {
    const said: string[] = [];
    const pool = database.pool({ options: "-c synchronous_commit=off" });
    const watched = Object.assign(Object.create(pool), {
      async query(config: { text: string; values?: unknown[] }) {
        if (!words.test(config.text)) return pool.query(config);
        const client = await pool.connect();
        await client.query("begin");
        const result = await client.query(config);
        said.push((await client.query("show synchronous_commit")).rows[0].synchronous_commit);
        await client.query("commit");
        client.release();
        return result;
      },
    });
    return { pool: watched, said };
  }

  test("a dead letter that is discarded is gone for good before that is said", async () => {
    await using stage = await Stage.open(() => create());
    await stage.giveUp([sample("payment")]);
    const { pool, said } = watchedPool(/delete from/);
    const outbox = await reopen({ pool });
    const [letter] = await outbox.deadLetters.list();

    expect(await outbox.deadLetters.discard(letter?.id as string)).toBe(true);

    expect(said).toEqual(["on"]);
  });

  test("a changed circuit is on the disk before `replace` resolves", async () => {
    const { pool, said } = watchedPool(/(insert into|update|delete from) \S+circuits/);
    const { circuits, close } = await create({ pool });
    const found: Circuit = { since: 1, attempts: 1, failed: true, probeAt: 2, hurriedAt: 0 };
    const change = { destination: 1, endpoint: "lead/payment" } as const;
    const later = { ...found, probeAt: 3 };

    expect(await circuits?.replace({ ...change, known: undefined, next: found })).toBe(true);
    expect(await circuits?.replace({ ...change, known: found, next: later })).toBe(true);
    expect(await circuits?.replace({ ...change, known: later, next: undefined })).toBe(true);

    expect(said).toEqual(["on", "on", "on"]);
    await close();
  });

  describe("what the setting lets the host's own transaction lose", () => {
    const withSetting = (setting: string) =>
      create({ pool: database.pool({ options: `-c synchronous_commit=${setting}` }) });

    test("is logged if a crash of the server takes it", async () => {
      const logger = linesLogger();
      startTracker({ baseUrl: "http://127.0.0.1:1", outbox: await withSetting("off"), logger });

      await expect.poll(() => logger.lines).toHaveLength(1);
      expect(logger.lines[0]).toContain(
        "postgresOutbox: synchronous_commit is off: if the server crashes, your own transaction may be lost with its report",
      );
    });

    test.each(["on", "remote_apply", "remote_write", "local"])("is nothing if it is %s", async (setting) => {
      const outbox = await withSetting(setting);
      expect(await outbox.cautions()).toEqual([]);
    });
  });
});

describeWithPostgresServer("durability with a standby", ({ create, pool, sql }) => {
  test("warns if commits do not wait for the standby: a promotion may lose the host's own transaction", async () => {
    const outbox = await create({ pool: pool({ options: "-c synchronous_commit=local" }) });
    await sql("alter system set synchronous_standby_names = 'standby'");
    await sql("select pg_reload_conf()");

    await expect
      .poll(() => outbox.cautions())
      .toEqual([expect.stringContaining("synchronous_commit is local: if a standby is promoted")]);
  });
});
