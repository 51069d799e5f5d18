import type pg from "pg";
import { expect, test } from "vitest";
import { DESTINATION, paying, sample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithPostgresServer, virtualPool, withSlowClaims } from "../../helpers/postgres.js";
import { blocksOf, meanOf } from "../sql/reads.js";

const DEAD = 30_000;
const VISITORS = 5;
const STATEMENTS = ["append", "claim", "settle"] as const;
const EVENTS_A_SECOND = 200;
const STEP_MS = 100;

type Blocks = Record<(typeof STATEMENTS)[number], number[]>;

describeWithPostgresServer("while another session's snapshot is open", (database) => {
  const { create, sql } = database;

  /**
   * A pool that explains each of these statements before it runs it, in a transaction that is
   * undone.
   */
  function explaining(pool: pg.Pool, blocks: Blocks): pg.Pool {
    return Object.assign(Object.create(pool), {
      async query(config: { text: string; values?: unknown[] }, values?: unknown[]) {
        const statement = STATEMENTS.find((name) => config.text?.includes(`.${name}(`));
        // A full claim, which takes at most a twentieth of the time, steps over all dead rows.
        if (statement && (statement !== "claim" || config.values?.[8] !== null)) {
          const client = await pool.connect();
          blocks[statement].push(await blocksOf(client, config.text, config.values));
          client.release();
        }
        return pool.query(config, values);
      },
    });
  }

  test("a statement reads at most ten times the blocks that it reads without it, though no dead row can be removed", async () => {
    const blocks: Blocks = { append: [], claim: [], settle: [] };
    const pool = explaining(database.pool(), blocks);
    await using stage = await Stage.open(() => create({ pool }));
    stage.deliverAll();
    const round = async () => {
      for (const name of STATEMENTS) blocks[name].length = 0;
      for (let visitor = 0; visitor < VISITORS; visitor++) await stage.add(...paying());
      await stage.empty();
      return STATEMENTS.map((name) => meanOf(blocks[name]));
    };
    await round();
    const without = await round();

    const dump = await openSnapshot();
    // As statistics are that were taken while nothing waited.
    await sql("analyze $schema.events");
    await sql(
      `insert into $schema.events
         (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, urgency, to_enter_from, written_at, due_at)
       select $1, gen_random_uuid(), 'click', endpoint, 'c' || nth, 's' || nth, '{}', at, at, urgency, case when nth % 2 = 0 then at end, at, at
       from generate_series(1, ${DEAD} / 8) as nth,
         (values ('lead/payment', 3), ('registration', 3), ('lead/registration', 3), ('click', 3),
           ('registration', 2), ('lead/registration', 2), ('click', 2), ('click', 1)) as scan (endpoint, urgency),
         lateral (select now() - nth * interval '80 milliseconds' - interval '5 seconds') as times (at)`,
      [DESTINATION],
    );
    await sql("delete from $schema.events");
    await expect.poll(async () => (await stage.outbox.look?.())?.queued).toBe(0);
    await round();
    const under = await round();
    // As statistics are that were taken while one visitor's events waited, and a vacuum has counted
    // the dead rows' blocks.
    await sql(
      `insert into $schema.events
         (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, urgency)
       select 0, gen_random_uuid(), 'click', 'click', 'c', 's', '{}', now(), now(), 1 from generate_series(1, 2)`,
    );
    await sql("vacuum analyze $schema.events");
    await sql("delete from $schema.events");
    const withTwoRows = await round();

    for (const [nth, name] of STATEMENTS.entries()) {
      expect(under[nth], name).toBeLessThanOrEqual(10 * (without[nth] as number));
      expect(withTwoRows[nth], name).toBeLessThanOrEqual(10 * (without[nth] as number));
    }
    await dump.end("commit");
  });

  test("a claim reads at most ten times the blocks at 200 events a second, though a scan of all dead rows takes so long that it is made once a minute", async () => {
    const blocks: Blocks = { append: [], claim: [], settle: [] };
    const clock = new FakeClock();
    // The clock does not wait for the server: the steps are so short that one wait for each is enough.
    const server = { now: () => clock.now() };
    const pool = withSlowClaims(virtualPool(explaining(database.pool(), blocks), server));
    await using stage = await Stage.open(() => create({ pool, pollMs: 1_000 }, clock));
    stage.deliverAll();
    const meanAfter = async (seconds: number) => {
      for (let ms = 0; ms < 1_000 * seconds; ms += STEP_MS) {
        blocks.claim.length = 0;
        const visitors = Array.from({ length: (EVENTS_A_SECOND * STEP_MS) / 1_000 / 2 }, stranger);
        const events = visitors.map((visitor) =>
          (["click", "payment"] as const).map((kind) => ({
            ...sample(kind, visitor),
            createdAt: clock.now(),
          })),
        );
        // Side by side, and each visitor's in their order.
        await Promise.all(events.map((one) => stage.add(...one)));
        await clock.pass(STEP_MS);
        await pool.settled();
      }
      return meanOf(blocks.claim);
    };
    const without = await meanAfter(2);
    const dump = await openSnapshot();

    expect(await meanAfter(8)).toBeLessThanOrEqual(10 * without);
    await dump.end("commit");
  });

  async function openSnapshot() {
    const dump = await database.begin("repeatable read");
    await dump.run("select 1");
    return dump;
  }
});
