import { expect, test } from "vitest";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

describeWithPostgres("durability", (database) => {
  const { create, reopen } = database;

  /** Runs statements in one transaction of a connection whose default this is. Resolves to what its commit goes by. */
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
      "select $schema.append('{1}', array[gen_random_uuid()], '{click}', '{click}', '{a}', '{b}', '{0}', array['{}'], 100, 'try')",
    claiming: `select $schema.claim(1, '${worker}', '1 minute', 1, '{}', '{1}', '[]', null, null)`,
    settling: `select $schema.settle(1, '${worker}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    shedding: "select $schema.shed(1, 2::smallint, 1, 0::smallint, 'a', 'b')",
    "shedding a visitor's clicks": "select $schema.shed_clicks(1, 'a', 'b', 99)",
    "retrying a dead letter": "select $schema.revive(1, '{}', '{}', false)",
    "handing events over": "select $schema.hand_over_events(1, 2, 50), $schema.hand_over_the_rest(1, 2, 50)",
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
    const text = `select $schema.enqueue(1, gen_random_uuid(), 'click', 'click', 'a', 'b', 0, '{}', 100, null)`;

    for (const setting of ["off", "on", "remote_apply"])
      expect(await commitGoesBy(setting, text)).toBe(setting);
  });

  test("a dead letter that is discarded is gone for good before that is said", async () => {
    await using stage = await Stage.open(() => create());
    await stage.giveUp([sample("payment")]);
    const said: string[] = [];
    const pool = database.pool({ options: "-c synchronous_commit=off" });
    const outbox = await reopen({
      pool: Object.assign(Object.create(pool), {
        async query(config: { text: string; values?: unknown[] }) {
          if (!config.text.includes("delete from")) return pool.query(config);
          const client = await pool.connect();
          await client.query("begin");
          const result = await client.query(config);
          said.push((await client.query("show synchronous_commit")).rows[0].synchronous_commit);
          await client.query("commit");
          client.release();
          return result;
        },
      }),
    });
    const [letter] = await outbox.deadLetters.list();

    expect(await outbox.deadLetters.discard(letter?.id as string)).toBe(true);

    expect(said).toEqual(["on"]);
    await outbox.close();
  });
});
