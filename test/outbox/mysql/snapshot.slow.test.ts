import type mysql from "mysql2/promise";
import { expect, test } from "vitest";
import { sample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithMariaDbServer, virtualPool } from "../../helpers/mysql.js";
import { countingPages, meanOf } from "../sql/reads.js";

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

describeWithMariaDbServer("while another session's snapshot is open", (database) => {
  test("statements read as many pages after six thousand events as after three thousand, though no dead row can be removed", async () => {
    const pages: Pages = { search: [], take: [], append: [], settle: [] };
    const clock = new FakeClock();
    const counting = countingPages(database.pool({ connectionLimit: 1 }), STATEMENTS, (name, read) =>
      pages[name].push(read),
    );
    const pool = virtualPool(counting as mysql.Pool, clock);
    await using stage = await Stage.open(() => database.create({ pool }, clock));
    stage.delivery.capacity = 8;
    stage.deliverAll();
    const round = async () => {
      for (const name of Object.keys(pages) as (keyof Pages)[]) pages[name].length = 0;
      for (let ms = 0; ms < ROUND_MS; ms += STEP_MS) {
        const visitors = Array.from({ length: (EVENTS_A_SECOND * STEP_MS) / 1_000 / 2 }, stranger);
        const adding = visitors.flatMap((visitor) =>
          (["click", "payment"] as const).map((kind) =>
            stage.add({ ...sample(kind, visitor), createdAt: clock.now() }),
          ),
        );
        await clock.pass(Math.min(STEP_MS, ROUND_MS - ms));
        await Promise.all(adding);
      }
      return Object.fromEntries(Object.entries(pages).map(([name, each]) => [name, meanOf(each)]));
    };
    const dump = await database.begin();
    await dump.run("start transaction with consistent snapshot");
    await round();
    const early = await round();
    await round();
    const late = await round();

    for (const name of Object.keys(pages)) {
      expect(late[name], name).toBeLessThanOrEqual(1.2 * (early[name] as number));
    }
    await dump.end("commit");
  }, 240_000);
});
