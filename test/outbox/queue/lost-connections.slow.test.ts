import type { Outbox, OutboxEvent } from "express-affiliate";
import type { MysqlPool } from "express-affiliate/mysql";
import type { PostgresPool } from "express-affiliate/postgres";
import { expect, test } from "vitest";
import type { Verdict } from "../../../src/outbox/outbox.js";
import { DEAD, DONE } from "../../../src/outbox/queue/rows.js";
import { sample, stranger } from "../../contract/samples.js";
import { REJECTED, retryIn } from "../../contract/stage.js";
import { watch } from "../../helpers/deliver.js";
import { around as aroundMysql, describeWithMariaDb } from "../../helpers/mysql.js";
import { around as aroundPostgres, describeWithPostgres } from "../../helpers/postgres.js";

/**
 * When a connection is ended: before the server gets a statement, or once it has run it, and its
 * answer is lost.
 */
type When = "before" | "after";

/** Ends the connection of the next statement that has this text in it. */
interface Cut {
  readonly text: string;
  readonly when: When;
  isDue: boolean;
}

const WHENS: readonly When[] = ["before", "after"];

/** Texts in the statements that store an event, claim it, and settle it in each way. */
const STATEMENTS = [
  ...["with n (name)", "e.report", "due_at = case when", " as step, ", "set turn = 101"],
  ...[
    "order by visitor",
    `state = ${DONE}`,
    `state = ${DEAD}`,
    "interrupted = 0, history",
    "first_1",
    "delete from",
  ],
  "commit",
];

/**
 * Runs a statement. The one to cut is run on a connection that is ended before it or after it, and
 * rejects with what the driver says then.
 */
async function runOrCut<T>(cut: Cut, text: string, run: () => Promise<T>, end: () => Promise<unknown>) {
  if (!cut.isDue || !text.includes(cut.text)) return run();
  cut.isDue = false;
  if (cut.when === "after") await run();
  await end();
  return run();
}

describeWithMariaDb("a connection to MariaDB that is lost", (database) => {
  function cutting(cut: Cut): MysqlPool {
    return aroundMysql(database.pool({ connectionLimit: 4 }), (run, sql, { threadId }) =>
      runOrCut(cut, sql, run, () => database.sql(`kill ${threadId}`)),
    );
  }
  isNoOutage((cut) => database.create({ pool: cutting(cut) }));
});

describeWithPostgres("a connection to PostgreSQL that is lost", (database) => {
  function cutting(cut: Cut): PostgresPool {
    return aroundPostgres(database.pool({ max: 4 }), (run, text, client) =>
      runOrCut(cut, text, run, async () => {
        const { pid } = (await client.query("select pg_backend_pid() as pid")).rows[0];
        await database.sql("select pg_terminate_backend($1, 5000)", [pid]);
      }),
    );
  }
  isNoOutage((cut) => database.create({ pool: cutting(cut) }));
});

function isNoOutage(create: (cut: Cut) => Promise<Outbox>): void {
  test.each(STATEMENTS.flatMap((text) => WHENS.map((when) => [when, text] as const)))(
    "is no outage %s a statement with %s: each event is queued, sent once, and its verdict told",
    async (when, text) => {
      // Of one visitor: after the first has left, the next head is looked for.
      const [visitor, taken] = [stranger(), sample("payment")];
      const [refused, postponed] = [sample("click", visitor), sample("registration", visitor)];
      const isPostponed = new Set([postponed.id]);
      function verdictOn({ id }: OutboxEvent): Verdict {
        if (id === refused.id) return { type: "dead", ...REJECTED };
        return isPostponed.delete(id) ? retryIn(1) : { type: "delivered" };
      }
      const cut: Cut = { text, when, isDue: false };
      const outbox = await create(cut);
      const { handed, settled, said, start } = watch(outbox, ({ event, interrupted }) => {
        expect(interrupted).toBe(false);
        return verdictOn(event);
      });
      start();
      cut.isDue = true;

      const events = [taken, refused, postponed];
      const outcomes = await Promise.all(events.map((event) => outbox.add(event)));

      expect(outcomes).toEqual(["queued", "queued", "queued"]);
      await expect.poll(() => settled.length).toBe(4);
      expect(cut.isDue).toBe(false);
      expect([...handed].sort()).toEqual([...events, postponed].map(({ id }) => id).sort());
      expect(new Set(settled)).toEqual(
        new Set([
          [taken.id, "delivered"],
          [refused.id, "dead"],
          [postponed.id, "retry"],
          [postponed.id, "delivered"],
        ]),
      );
      expect(said).toEqual([]);
    },
  );
}
