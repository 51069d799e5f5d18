import { join } from "node:path";
import { expect, test } from "vitest";
import { createDialect } from "../../../../src/outbox/disk/file/dialect.js";
import { openFile } from "../../../../src/outbox/disk/file/file.js";
import { openDatabase } from "../../../../src/outbox/disk/file/sqlite.js";
import { engine } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

// Node 23 has `columns` alone.
test.each([["columns", "setReturnArrays"], ["columns"], []] as const)(
  "reads rows by %j, %j",
  async (...has) => {
    const { db, close } = openFile(join(scratchDirectory(), "outbox.db"), { engine, maxBytes: 2 ** 26 });
    const dialect = createDialect(() => 7);
    dialect.use({
      ...{ exec: (sql) => db.exec(sql), close },
      prepare(sql) {
        const to = db.prepare(sql);
        const names = ["run", "get", "all", ...has] as const;
        return Object.fromEntries(
          names.map((name) => [
            name,
            (...all: never[]) => (to[name] as (...all: never[]) => unknown)(...all),
          ]),
        ) as never;
      },
    });

    const read = () =>
      dialect.pass(() =>
        dialect.rows("select :now as now, ? as one, m.* from migrations m where version < :now", ["a"]),
      );
    const added = await dialect.pass(() =>
      dialect.write("insert into migrations (version, made_at) values (?, :now)", [5]),
    );
    expect(added).toBe(1);
    const right = { now: 7, one: "a", version: 5, made_at: 7 };
    expect(await read()).toContainEqual(right);
    // As a later version may, while this process goes on.
    db.exec("alter table migrations add column more integer not null default 9");
    expect(await read()).toContainEqual(expect.objectContaining(right));
    close();
  },
);

test("a host's warnings are told after SQLite could not be loaded or opened", () => {
  const { emitWarning } = process;
  const directory = scratchDirectory();

  expect(() => openDatabase(join(directory, "missing.js"), ":memory:")).toThrow("Cannot find module");
  expect(() => openDatabase(engine, directory)).toThrow();
  expect(process.emitWarning).toBe(emitWarning);
});
