import { join } from "node:path";
import { expect, test } from "vitest";
import { createDialect } from "../../../../src/outbox/disk/file/dialect.js";
import { openFile } from "../../../../src/outbox/disk/file/file.js";
import { engine } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

test.each(["arrays", "objects, as before Node 22.16"])("reads rows as %s", async (as) => {
  const { db, close } = openFile(join(scratchDirectory(), "outbox.db"), { engine, maxBytes: 2 ** 26 });
  const dialect = createDialect(() => 7);
  dialect.use({
    ...{ exec: (sql) => db.exec(sql), close },
    prepare(sql) {
      const to = db.prepare(sql);
      expect(to.columns).toBeTypeOf("function");
      expect(to.setReturnArrays).toBeTypeOf("function");
      if (as === "arrays") return to;
      return {
        run: (...all) => to.run(...all),
        get: (...all) => to.get(...all),
        all: (...all) => to.all(...all),
      };
    },
  });

  const found = await dialect.pass(async () => {
    expect(await dialect.write("insert into migrations (version, made_at) values (?, :now)", [5])).toBe(1);
    const text =
      "select version, made_at, :now as now, ? as one from migrations where version between ? and :now";
    return dialect.rows(text, ["first", 2]);
  });
  expect(found).toEqual([{ version: 5, made_at: 7, now: 7, one: "first" }]);
  close();
});
