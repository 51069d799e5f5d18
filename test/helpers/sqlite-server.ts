import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createDialect } from "../../src/outbox/disk/file/dialect.js";
import { openFile } from "../../src/outbox/disk/file/file.js";
import type { Database } from "../../src/outbox/queue/database.js";
import { engine } from "./disk-store.js";
import { scratchDirectory } from "./scratch.js";

/** A database whose calls are transactions of their own, and take turns of the event loop, as a server's. */
export function sqliteServer() {
  const { db, close } = openFile(join(scratchDirectory(), "outbox.db"), { engine, maxBytes: 2 ** 26 });
  onTestFinished(() => close());
  const dialect = createDialect(() => Date.now());
  dialect.use(db);
  const database: Database & Required<Pick<Database, "insertWithin">> = {
    ...dialect,
    rows: (...asked) => dialect.pass(() => dialect.rows(...asked)),
    write: (...asked) => dialect.pass(() => dialect.write(...asked)),
    async transaction(work) {
      await new Promise((resolve) => setImmediate(resolve));
      return dialect.pass(() => work(dialect));
    },
    insertWithin: async (_, { insert }) => (await database.write(insert.text, insert.values)) > 0,
  };
  return { db, database };
}
