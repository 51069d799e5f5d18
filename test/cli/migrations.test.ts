import { mysqlMigrations } from "express-affiliate/mysql";
import { postgresMigrations } from "express-affiliate/postgres";
import { describe, expect, it } from "vitest";
import { migrationsCommand } from "../../src/cli/migrations.js";
import { describeWithPostgres } from "../helpers/postgres.js";
import { printedBy } from "./helpers.js";

const run = (...args: string[]) => printedBy(migrationsCommand, args);

describe("the command `migrations`", () => {
  it("prints the SQL", async () => {
    expect(await run()).toEqual({ code: 0, out: postgresMigrations().join("\n"), err: "" });
    expect(await run("--mysql")).toEqual({ code: 0, out: mysqlMigrations().join("\n"), err: "" });
    expect((await run("--mysql", "--prefix", "shop_")).out).toBe(mysqlMigrations("shop_").join("\n"));
  });

  it.each([
    [["--mysql", "--prefix", "a b"], "must be a letter, then letters"],
    [["--prefix", "shop_"], "--prefix goes with --mysql"],
    [["--mysql", "--schema", "shop"], "--schema goes without --mysql"],
    [["--schema", "a b"], "must be a letter, then letters"],
    [["--nope"], "there is no option --nope"],
    [["stray"], "it takes options only"],
  ])("refuses %j as usage", async (args, because) => {
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(because);
  });
});

describeWithPostgres("what the command `migrations` prints", (database) => {
  it("makes the tables that an outbox with `migrate: false` works with", async () => {
    const pool = database.pool();
    // The second time changes nothing.
    for (let nth = 0; nth < 2; nth++) await pool.query((await run("--schema", "by_command")).out);
    const outbox = await database.create({ schema: "by_command", migrate: false });
    expect(outbox.counts()).toMatchObject({ queued: 0 });
    await outbox.close();
  });
});
