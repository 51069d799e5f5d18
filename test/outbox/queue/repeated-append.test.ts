import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDialect } from "../../../src/outbox/disk/file/dialect.js";
import { openFile } from "../../../src/outbox/disk/file/file.js";
import { createEnqueue } from "../../../src/outbox/queue/enqueue.js";
import { DEAD, DONE, SCHEDULED } from "../../../src/outbox/queue/rows.js";
import { sample } from "../../contract/samples.js";
import { engine } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";

function setUp() {
  const file = openFile(join(scratchDirectory(), "outbox.db"), { engine, maxBytes: 2 ** 26 });
  onTestFinished(() => file.close());
  const database = createDialect(() => Date.now());
  database.use(file.db);
  const { enqueue } = createEnqueue(database, async () => []);
  const incoming = [{ event: sample("payment"), report: "the same" }];
  return {
    append: () => database.pass(() => enqueue(database, incoming)),
    heads: () => file.db.prepare("select count(*) as number from queues").get().number,
    leave(state: number) {
      file.db.exec(`update events set state = ${state}; delete from queues`);
    },
  };
}

test("an append that is repeated after a lost answer has stored its event once", async () => {
  const { append, heads } = setUp();
  const queued = { stored: ["queued"], shed: [] };
  expect([await append(), await append()]).toEqual([queued, queued]);
  expect(heads()).toBe(1);
});

test.each([
  ["delivered", DONE],
  ["given up", DEAD],
  ["scheduled", SCHEDULED],
])("an append that is repeated once its event is %s puts it into no queue again", async (_, state) => {
  const { append, heads, leave } = setUp();
  await append();
  leave(state);
  expect(await append()).toMatchObject({ stored: ["queued"] });
  expect(heads()).toBe(0);
});
