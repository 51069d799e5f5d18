import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { testDatabase } from "./databases.js";
import { outbox } from "./helpers.js";

const run = promisify(execFile);

describeWithMariaDb("an outbox in MySQL", (database) => {
  const { create, reopen, sql } = database;

  testDatabase({
    storage: "mysql",
    schemes: ["mysql", "mariadb"],
    url: () => database.server.uri,
    tables: (name = database.prefix) => ["--prefix", name],
    create,
    reopen,
    missing: {
      name: "missing_",
      says: /"missing_…" are missing.*express-affiliate migrations --mysql --prefix missing_/,
      code: "ERR_AFFILIATE_MYSQL_TABLES",
    },
    tablesNamedMissing: () => sql("show tables like 'missing\\_%'"),
    places() {
      const { host, port } = database.server.connection;
      return [`${host}:${port}/shop`, `${host}:${port}/nowhere`, `${host}:1/shop`, `${host}:x/shop`];
    },
    async backUp() {
      const { host, port, user, password, database: name } = database.server.connection;
      const login = [`--host=${host}`, `--port=${port}`, `--user=${user}`, `--password=${password}`];
      const tables = ["migrations", "queues", "events"].map((table) => database.prefix + table);
      const { stdout } = await run(
        "mariadb-dump",
        ["--no-defaults", ...login, "--single-transaction", name as string, ...tables],
        { maxBuffer: 2 ** 26 },
      );
      return () => {
        execFileSync("mariadb", ["--no-defaults", ...login, name as string], { input: stdout });
      };
    },
  });

  it("is not asked for in words that only the driver knows", async () => {
    expect(await outbox([`${database.server.uri}?pa55word=1`, "status"])).toEqual({
      code: 1,
      out: "",
      err: "outbox: of the URL's query, ssl is understood, and nothing else; a user and a password go before the host",
    });
  });
});
