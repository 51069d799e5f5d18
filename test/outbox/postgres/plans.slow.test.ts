import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { Lane } from "../../../src/outbox/claim.js";
import { stepsOf } from "../../../src/outbox/postgres/steps.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";

// A scan of the table, which costs less the fewer there are, is what a planner that is wrong would
// take.
const WAITING = 100_000;
const LIMIT = 8;

const newId = () => randomBytes(16).toString("hex");

describeWithPostgresServer("plans", (database) => {
  const { create, sql } = database;
  let schema = "";

  // Events of two destinations, of which a quarter rest and a quarter have rested; of each of them
  // half are clicks, and of those a third each is as urgent as a payment, a registration and a
  // click.
  beforeAll(async () => {
    await (await create()).close();
    schema = database.schema;
    await sql(`
      insert into $schema.events
        (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, urgency, tried, due_at)
      select nth % 2, gen_random_uuid(), case nth / 2 % 2 when 0 then 'click' else 'payment' end,
        case nth / 2 % 2 when 0 then 'click' else 'lead/payment' end, 'c' || nth, 's' || nth, '{}', now(), now(),
        case nth / 2 % 2 when 0 then 1 + nth / 4 % 3 else 3 end, nth > ${WAITING / 2}, now() + case when nth > ${0.75 * WAITING} then 1 else -1 end * nth * interval '1 millisecond'
      from generate_series(1, ${WAITING}) as nth`);
  }, 300_000);

  /**
   * Runs a statement on these events, and undoes it. Returns its rows, and how the statements of
   * its functions found theirs.
   */
  async function explain(before: string, text: string, values: unknown[]) {
    const client = await database.pool().connect();
    const plans: string[] = [];
    client.on("notice", ({ message }) => plans.push(String(message)));
    await client.query("begin");
    await client.query(before.replaceAll("$schema", schema));
    await client.query(`
      load 'auto_explain';
      set local auto_explain.log_min_duration = 0;
      set local auto_explain.log_nested_statements = on;
      set local auto_explain.log_analyze = on;
      set local client_min_messages = log`);
    const { rows } = await client.query(text.replaceAll("$schema", schema), values);
    await client.query("rollback");
    client.release();
    const plan = plans.join("\n");
    return { rows, plan, scans: plan.match(/(?:Seq|Bitmap|Index|Index Only) (?:Heap )?Scan .*/g) ?? [] };
  }

  function expectIndexes({ plan, scans }: { plan: string; scans: readonly string[] }, most: number): void {
    expect(scans.length).toBeGreaterThan(0);
    for (const scan of scans) {
      expect(scan).toMatch(/^Index/);
      expect(Number(scan.match(/actual .*rows=(\d+)/)?.[1] ?? 0)).toBeLessThanOrEqual(most);
    }
    for (const [, removed] of plan.matchAll(/Rows Removed by Filter: (\d+)/g)) {
      expect(Number(removed)).toBeLessThanOrEqual(most);
    }
    expect(plan).not.toMatch(/Sort Key: due_at|JIT/);
  }

  const lanes: Record<string, Omit<Lane, "limit">[]> = {
    "the oldest": ENDPOINTS.map((endpoint) => ({ endpoint })),
    "the newest": [{ endpoint: "click", newestFirst: true }],
    newcomers: [{ endpoint: "lead/payment", newestFirst: true, newWithinMs: 90_000 }],
    "those that rest": [
      { endpoint: "lead/payment", newestFirst: true, newWithinMs: 1 },
      { endpoint: "registration" },
      { endpoint: "click", evenResting: true },
    ],
  };

  test.each(Object.entries(lanes))(
    "claims %s by an index, and looks at no more rows than it takes, however many wait",
    async (_, rows) => {
      const isResting = rows.some(({ evenResting }) => evenResting);
      const limited = rows.map((row) => ({ ...row, limit: LIMIT }));
      const steps = JSON.stringify(stepsOf(limited, () => undefined));

      const found = await explain(
        isResting ? "update $schema.events set due_at = null where due_at <= now()" : "select",
        "select * from $schema.claim(1, $1, '1 minute', $2, '{}', $3, $4, null, null, null)",
        ["00000000-0000-0000-0000-000000000000", LIMIT, rows.map(() => LIMIT), steps],
      );

      // The last row says where the next scans begin.
      expect(found.rows).toHaveLength(LIMIT + 1);
      expect(found.plan).toMatch(
        new RegExp(`Index Scan (Backward )?using events_due on events .*rows=${LIMIT} loops=1\\)`),
      );
      expectIndexes(found, LIMIT);
    },
  );

  test.each([0, 99, 100])(
    "stores a click by indexes, and looks at its visitor's alone, if %i wait",
    async (number) => {
      const theirs = `
        insert into $schema.events
          (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, urgency, due_at)
        select 1, gen_random_uuid(), 'click', 'click', 'theirs' || nth, 'theirs', '{}', now(), now(), 1, now()
        from generate_series(1, ${number}) as nth`;
      const append = `
        select outcome
        from $schema.append('{1}', $1, '{click}', '{click}', '{new}', '{theirs}', '{0}', array['{}'], '{1}', 100, 'try') as outcome`;

      const stored = await explain(theirs, append, [[newId()]]);
      const shed = await explain(theirs, "select * from $schema.shed_clicks(1, 'new', 'theirs', 99)", []);

      expect(stored.rows).toEqual([{ outcome: number < 100 ? "queued" : "crowded" }]);
      expect(shed.rows).toHaveLength(number < 100 ? 0 : 1);
      for (const found of [stored, shed]) expectIndexes(found, Math.max(LIMIT, number + 1));
    },
  );

  test("sheds the oldest click by indexes, and what the new payment waits for inherits its priority, however many wait", async () => {
    const [waiting] = await sql(
      "select click_id, session_id from $schema.events where destination = 1 and urgency = 1 order by seq offset 100 limit 1",
    );
    const ids = [waiting?.click_id, waiting?.session_id];

    const shed = "select * from $schema.shed(1, 1::smallint, 3::smallint, $1, $2)";
    const found = await explain("select", shed, ids);

    expect(found.rows).toMatchObject([{ urgency: 1 }]);
    expect(found.plan).toMatch(/update \S+events as event\s+set urgency = inherited.urgency/);
    expectIndexes(found, LIMIT);
  });

  test("parks a visitor's backlog once, however long it is", async () => {
    await using stage = await Stage.open(() => create());
    const events = Array.from({ length: 300 }, () => sample("payment", { clickId: "one" }));
    await Promise.all(events.map((event) => stage.outbox.add(event)));
    stage.delivery.capacity = 1;
    stage.start();
    const first = await stage.delivery.next();
    const other = sample("click");
    stage.delivery.capacity = 1;
    await stage.add(other);
    await stage.delivers(other);

    expect(await sql("select count(*)::int as n from $schema.events where due_at is null")).toEqual([
      { n: 299 },
    ]);
    first.settle({ type: "delivered" });
    await stage.delivers(...events.slice(1));
  });
});
