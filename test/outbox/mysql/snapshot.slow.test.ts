import type { MysqlPool } from "express-affiliate/mysql";
import type { RowDataPacket } from "mysql2/promise";
import { expect, test } from "vitest";
import { sample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithMariaDb, virtualPool } from "../../helpers/mysql.js";

const EVENTS_A_SECOND = 200;
const STEP_MS = 100;
// As long as a period of the index, in which dead rows are scanned.
const ROUND_MS = 8_192;
const STATEMENTS = {
  // Not the search for events that have to enter their queues.
  search: /3 as part, seq/,
  take: /set\s+interrupted = \(interrupted/,
  append: /^\s*insert into/,
  settle: /state = 'known'/,
} as const;

type Pages = Record<keyof typeof STATEMENTS, number[]>;

describeWithMariaDb("while another session's snapshot is open", (database) => {
  /** A pool of one connection that counts the pages that each of these statements reads. */
  function counting(pages: Pages) {
    const pool = database.pool({ connectionLimit: 1 });
    const read = "show global status like 'innodb_buffer_pool_read_requests'";
    return Object.assign(Object.create(pool) as typeof pool, {
      async getConnection() {
        const connection = await pool.getConnection();
        const requests = async () => {
          const [[row]] = await connection.query<RowDataPacket[]>(read);
          return Number(row?.Value);
        };
        return Object.assign(Object.create(connection) as typeof connection, {
          async query(options: { sql: string }) {
            const name = (Object.keys(STATEMENTS) as (keyof Pages)[]).find((each) =>
              STATEMENTS[each].test(options.sql),
            );
            if (!name) return connection.query(options);
            const before = await requests();
            const result = await connection.query(options);
            pages[name].push((await requests()) - before);
            return result;
          },
        });
      },
    });
  }

  test("statements read as many pages after six thousand events as after three thousand, though no dead row can be removed", async () => {
    const pages: Pages = { search: [], take: [], append: [], settle: [] };
    const clock = new FakeClock();
    const pool = virtualPool(counting(pages), clock);
    clock.settled = pool.settled;
    await using stage = await Stage.open(() => database.create({ pool: pool as MysqlPool }, clock));
    stage.delivery.capacity = 8;
    stage.delivery.each(({ settle }) => settle({ type: "delivered" }));
    stage.start();
    const round = async () => {
      for (const name of Object.keys(pages) as (keyof Pages)[]) pages[name].length = 0;
      for (let ms = 0; ms < ROUND_MS; ms += STEP_MS) {
        const adding: Promise<void>[] = [];
        for (let nth = 0; nth < (EVENTS_A_SECOND * STEP_MS) / 1_000; nth += 2) {
          const visitor = stranger();
          for (const kind of ["click", "payment"] as const) {
            adding.push(stage.add({ ...sample(kind, visitor), createdAt: clock.now() }));
          }
        }
        await clock.pass(Math.min(STEP_MS, ROUND_MS - ms));
        await Promise.all(adding);
      }
      return Object.fromEntries(Object.entries(pages).map(([name, each]) => [name, sum(each) / each.length]));
    };
    await using _ = await openSnapshot();
    await round();
    const early = await round();
    await round();
    const late = await round();

    for (const name of Object.keys(pages)) {
      expect(late[name], name).toBeLessThanOrEqual(1.2 * (early[name] as number));
    }
  }, 240_000);

  async function openSnapshot(): Promise<AsyncDisposable> {
    const dump = await database.pool().getConnection();
    await dump.query("start transaction with consistent snapshot");
    await dump.query("select 1");
    return {
      async [Symbol.asyncDispose]() {
        await dump.query("commit");
        dump.release();
      },
    };
  }
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
