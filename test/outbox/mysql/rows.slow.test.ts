import { beforeAll, expect, test } from "vitest";
import { priorityOf } from "../../../src/conversion/kinds.js";
import type { Lane } from "../../../src/outbox/claim.js";
import { ENTERED_AT_ONCE } from "../../../src/outbox/mysql/candidates.js";
import { NOT_ENTERED } from "../../../src/outbox/mysql/urgency.js";
import type { Endpoint } from "../../../src/service/endpoints.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { paying, sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { around, describeWithMariaDb } from "../../helpers/mysql.js";

// A scan of the table, which costs less the fewer there are, is what a planner that is wrong would
// take.
const WAITING = 100_000;
// Of a statement: each part of a claim looks at few, and sorts what it has found. The same, however
// many wait.
const MOST = 1_000;

describeWithMariaDb("rows that are read", (database) => {
  const { create, reopen, sql } = database;
  const lane = (endpoint: Endpoint, rules: Partial<Lane> = {}) => ({ endpoint, limit: 8, ...rules });

  // Strangers' events of every urgency: a quarter rest, a quarter have rested; a third wait behind
  // the one before them.
  beforeAll(async () => {
    await using stage = await Stage.open(() => create());
    await stage.add(sample("click"));
    await sql(`
      insert into $prefixevents
        (destination, id, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, tried, due_at)
      select destination, unhex(md5(nth)), elt(1 + nth % 3, 'click', 'registration', 'payment'),
        elt(1 + nth % 3, 'click', 'registration', 'lead/payment'), 1 + nth % 3, concat('c', nth), concat('s', nth div 3),
        '{}', 1, 1, nth > ${WAITING / 2}, if(nth % 3 = 0, if(nth > ${0.75 * WAITING}, 1e15, nth), null)
      from $prefixevents, (select seq as nth from seq_1_to_${WAITING}) as numbers`);
    await sql("update $prefixevents set urgency = 3 where kind = 'click' and seq > 1");
    await sql("analyze table $prefixevents");
  }, 300_000);

  /** A pool that counts the rows that each statement reads. */
  function counting() {
    const pool = database.pool({ connectionLimit: 4 });
    const statements: { readonly text: string; readonly rows: number }[] = [];
    const counted = around(pool, async (run, text) => {
      await run("flush status");
      const result = await run();
      const [read] = await run(
        "show session status where variable_name like 'Handler_read%' or variable_name = 'Handler_icp_attempts'",
      );
      const rows = (read as { Value: string }[]).reduce((all, { Value }) => all + Number(Value), 0);
      // A count of all that waits is made now and then; and what rests is looked through when a
      // process starts.
      if (!/count\(\*\)|as ahead/.test(text)) statements.push({ text, rows });
      return result;
    });
    return { pool: counted, statements };
  }

  test.each([
    ["the oldest", ENDPOINTS.map((endpoint) => lane(endpoint))],
    ["the newest", [lane("click", { newestFirst: true })]],
    ["new events", [lane("click", { newestFirst: true, newWithinMs: 15_000 }), lane("lead/payment")]],
    ["those that rest", ENDPOINTS.map((endpoint) => lane(endpoint, { evenResting: true }))],
  ])("are few where %s are claimed of many, and settled", async (_, lanes) => {
    const { pool, statements } = counting();
    await using stage = await Stage.open(() => reopen({ pool, maxEvents: 2 * WAITING }));
    stage.delivery.lanes = lanes;
    stage.delivery.capacity = 8;
    stage.start();
    await stage.add(...paying());
    for (const { settle } of await stage.take(2)) settle({ type: "delivered" });
    await expect.poll(() => stage.delivery.told.length).toBeGreaterThanOrEqual(2);

    expect(statements.length).toBeGreaterThan(5);
    expect(statements.filter(({ rows }) => rows > MOST)).toEqual([]);
  });

  test("are few if a full outbox sheds for a payment", async () => {
    const { pool, statements } = counting();
    await using stage = await Stage.open(() => reopen({ pool, maxEvents: WAITING }));
    stage.hold();
    await stage.add(sample("payment"));

    await expect.poll(() => stage.delivery.dropped.length).toBeGreaterThan(0);
    expect(statements.filter(({ rows }) => rows > MOST)).toEqual([]);
  });

  test("are few if the server's statistics are older than a backlog that no process has looked at", async () => {
    const { pool, statements } = counting();
    await using stage = await Stage.open(() => create({ pool }));
    await stage.add(sample("click"));
    await sql("alter table $prefixevents stats_auto_recalc = 0");
    await sql(`
      insert into $prefixevents
        (destination, id, kind, endpoint, urgency, click_id, data, created_at, queued_at, due_at)
      select destination, unhex(md5(nth)), if(nth % 2, 'payment', 'click'), if(nth % 2, 'lead/payment', 'click'),
        if(nth % 2, ${NOT_ENTERED}, ${priorityOf("click")}), concat('c', nth div 2), '{}', 1, nth, nth
      from $prefixevents, (select seq as nth from seq_2_to_10000) as numbers`);
    stage.delivery.capacity = 8;
    stage.start();
    for (let n = 0; n < 8; n++) (await stage.delivery.next()).settle({ type: "delivered" });
    await expect.poll(() => stage.delivery.told.length).toBeGreaterThanOrEqual(8);

    expect(statements.length).toBeGreaterThan(5);
    const most = Math.max(...statements.map(({ rows }) => rows));
    expect(most).toBeLessThan(20 * ENTERED_AT_ONCE);
  });
});
