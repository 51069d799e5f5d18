import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { testDatabase } from "./databases.js";
import { jsonOf, outbox } from "./helpers.js";

const run = promisify(execFile);

describeWithPostgres("an outbox in Postgres", (database) => {
  const { create, reopen, sql } = database;
  const here = () => [database.cluster.connectionString, "--schema", database.schema];

  testDatabase({
    storage: "postgres",
    schemes: ["postgres", "postgresql"],
    url: () => database.cluster.connectionString,
    tables: (name = database.schema) => ["--schema", name],
    create,
    reopen,
    missing: {
      name: "missing",
      says: /tables in the schema "missing" are missing.*express-affiliate migrations --schema missing/,
      code: "ERR_AFFILIATE_POSTGRES_TABLES",
    },
    tablesNamedMissing: () => sql("select from information_schema.schemata where schema_name = 'missing'"),
    places() {
      const { host, port } = database.cluster;
      return [`${host}:${port}/postgres`, `${host}:${port}/nowhere`, `${host}:1/postgres`];
    },
    async backUp() {
      const { cluster, schema } = database;
      const file = join(scratchDirectory(), "outbox.dump");
      const options = ["--format=custom", `--schema=${schema}`, `--file=${file}`];
      await run("pg_dump", [...options, cluster.connectionString]);
      return async () => {
        await sql("drop schema $schema cascade");
        await run("pg_restore", ["--exit-on-error", `--dbname=${cluster.connectionString}`, file]);
      };
    },
  });

  it("gives back its connection", async () => {
    await (await create()).close();
    await outbox([...here(), "status"]);
    const connections =
      "select from pg_stat_activity where datname = current_database() and application_name = 'express-affiliate'";
    await expect.poll(() => sql(connections)).toEqual([]);
  });

  it("says what the server has against who asks", async () => {
    await (await create()).close();
    await sql("create role nobody_here login");
    const url = database.cluster.connectionString.replace("postgres@", "nobody_here:pa55word@");
    const { code, err } = await outbox([url, "--schema", database.schema, "list"]);
    const lacks =
      /^postgresOutbox: the database's role lacks a right \(permission denied for schema \w+\): grant it /;
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(lacks) });
  });
});

describe("a database that cannot be reached", () => {
  it("is said to be so", async () => {
    const url = "postgres://shop:pa55word@127.0.0.1:1/shop";
    const message = "outbox: connect ECONNREFUSED 127.0.0.1:1";
    expect(await outbox([url, "status"])).toEqual({ code: 1, out: "", err: message });
    const error = { code: "ECONNREFUSED", message };
    expect(await jsonOf([url, "list"])).toEqual({ code: 1, json: { error } });
  });

  it("is not looked for if the address is none", async () => {
    const url = "postgres://shop:pa55word@127.0.0.1:port/shop";
    expect(await outbox([url, "status"])).toMatchObject({ code: 1, err: "outbox: Invalid URL" });
  });
});
