import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { mysqlMigrations } from "express-affiliate/mysql";
import fc from "fast-check";
import { beforeEach, expect, it, test, vi } from "vitest";
import { DESTINATION, sample } from "../../../src/testing/contract/samples.js";
import { REJECTED, Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { jsonOf, outbox } from "./helpers.js";
import { testRestore } from "./restore.js";

const run = promisify(execFile);

describeWithMariaDb("an outbox in MySQL", (database) => {
  const { create, sql } = database;
  const here = () => [database.server.uri, "--prefix", database.prefix];

  it("is shown, and decided about, where its host is not running", async () => {
    await using stage = await Stage.open(() => create());
    const dead = [sample("payment"), sample("registration"), sample("click")] as const;
    await stage.giveUp(dead.slice(0, 2), { ...REJECTED, message: "not Ann O'Neill <ann@shop.example>" });
    await stage.giveUp(dead.slice(2), { reason: "unconfirmed", code: "ECONNRESET", attempts: 1 });
    stage.delivery.capacity = 0;
    await stage.add(sample("click"));
    await stage.close();

    expect(await jsonOf([...here(), "status"])).toEqual({
      code: 0,
      json: {
        outbox: "mysql",
        queued: 1,
        oldestMs: expect.any(Number),
        scheduled: { count: 0, nextInMs: null },
        byDestination: { [DESTINATION]: 1 },
        dead: { rejected: 2, unconfirmed: 1, expired: 0 },
        trouble: null,
      },
    });
    const { out } = await outbox([...here(), "list", "--limit", "2"]);
    expect(out.match(/[0-9a-f]{32}/g)).toEqual([dead[0].id, dead[1].id]);
    expect(await jsonOf([...here(), "retry", dead[0].id, "unknown"])).toEqual({
      code: 1,
      json: { retried: 1, notFound: ["unknown"] },
    });
    expect(await jsonOf([...here(), "discard", dead[1].id, dead[0].id])).toEqual({
      code: 1,
      json: { discarded: 1, notFound: [dead[0].id] },
    });
    expect(await outbox([...here(), "retry", "--all", "--reason", "unconfirmed"])).toMatchObject({
      code: 0,
      out: "ok      1 queued again; delivered by the host's own process",
    });
    expect(await sql("select count(*) as n from $prefixevents where state = 'queued'")).toEqual([{ n: 3 }]);
  });

  it("is found by an address in the environment, under either name", async () => {
    await (await create()).close();
    for (const DATABASE_URL of [database.server.uri, database.server.uri.replace("mysql:", "mariadb:")]) {
      const args = ["--url-env", "DATABASE_URL", "status", "--prefix", database.prefix];
      expect(await outbox(args, { env: { DATABASE_URL } })).toMatchObject({ code: 0, err: "" });
    }
  });

  it("is not made where it is missing", async () => {
    for (const words of ["status", "list", "retry --all", "discard --all --yes"]) {
      const args = [database.server.uri, "--prefix", "missing_", ...words.split(" ")];
      const { code, out, err } = await outbox(args);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(/"missing_…" are missing.*express-affiliate migrations --mysql --prefix missing_/);
    }
    expect(await sql("show tables like 'missing\\_%'")).toEqual([]);
  });

  it("is left alone where a later version has made it", async () => {
    const pool = database.pool({ multipleStatements: true });
    for (const script of mysqlMigrations("newer_")) await pool.query(script);
    await sql("insert into newer_migrations (version, at) values (99, 0)");
    expect(await outbox([database.server.uri, "--prefix", "newer_", "retry", "--all"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("install the newer express-affiliate"),
    });
  });

  it("is not looked for in a URL without a database", async () => {
    const url = new URL(database.server.uri);
    url.pathname = "";
    expect(await outbox([url.href, "status"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("the URL names no database"),
    });
    expect(await jsonOf([url.href, "status"])).toMatchObject({
      code: 1,
      json: { error: { code: "ERR_AFFILIATE_MYSQL_TABLES" } },
    });
  });

  it("is not asked for in words that only the driver knows", async () => {
    expect(await outbox([`${database.server.uri}?pa55word=1`, "status"])).toEqual({
      code: 1,
      out: "",
      err: "outbox: of the URL's query, ssl is understood, and nothing else; a user and a password go before the host",
    });
  });

  it("shows no password, whatever is wrong", async () => {
    const { host, port } = database.server.connection;
    const printed = vi.spyOn(console, "error");
    const places = [`${host}:${port}/shop`, `${host}:${port}/nowhere`, `${host}:1/shop`, `${host}:x/shop`];
    await fc.assert(
      fc.asyncProperty(password, fc.constantFrom(...places), fc.boolean(), async (secret, place, json) => {
        for (const url of urlsWith(secret, place)) {
          const { out, err } = await outbox([url, "status", ...(json ? ["--json"] : [])]);
          for (const spelt of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
            expect(out + err).not.toContain(spelt);
          }
        }
      }),
      { numRuns: 50 },
    );
    expect(printed).not.toHaveBeenCalled();
  });
});

/** Such as no message has by chance. */
const password = fc
  .string({
    unit: fc.oneof(fc.constantFrom(..."@:/?#%&=+ \\\"'[]{}|^`~"), fc.string({ minLength: 1, maxLength: 1 })),
  })
  .map((odd) => `qZ7${odd}7Zq`);

function urlsWith(secret: string, place: string): string[] {
  const encoded = encodeURIComponent(secret);
  return [
    `mysql://shop:${encoded}@${place}`,
    `mysql://shop:${secret}@${place}`,
    `mariadb://${place}?user=shop&password=${encoded}`,
    `mysql://${place}?user=shop&password=${secret}`,
    `mysql://shop:${secret}@[${place}`,
  ];
}

describeWithMariaDb("an outbox in MariaDB that is restored", (database) => {
  beforeEach(async () => {
    await (await database.create()).close();
  });

  testRestore({
    open: () => database.reopen({ leaseMs: 1_500 }),
    where: () => [database.server.uri, "--prefix", database.prefix],
    async backUp() {
      const { host, port, user, password, database: name } = database.server.connection;
      const login = [`--host=${host}`, `--port=${port}`, `--user=${user}`, `--password=${password}`];
      const tables = ["migrations", "circuits", "clock", "events"].map((table) => database.prefix + table);
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

  test("hold refuses while a process has claimed events, and holds payments alone once none has", async () => {
    const visitor = { sessionId: "ann" };
    const [payment, later] = [sample("payment", visitor), sample("registration", visitor)];
    await using stage = await Stage.open(() => database.reopen());
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(payment, later);
    const { settle } = await stage.delivery.next();
    const where = [database.server.uri, "--prefix", database.prefix];
    expect(await outbox([...where, "hold"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/nothing was held: stop all of them first, or wait \d+ s where none runs/),
    });

    stage.delivery.capacity = -1;
    settle({ type: "release" });
    await expect.poll(async () => (await jsonOf([...where, "hold"])).json.held).toBe(1);
    stage.release();
    expect(await stage.delivery.deliverNext()).toBe(later.id);
    expect(await stage.outbox.deadLetters.list()).toMatchObject([
      { id: payment.id, reason: "unconfirmed", code: "ERR_HELD", attempts: 0 },
    ]);
  });

  test("hold tells of other connections, which may be hosts", async () => {
    const other = await database.pool().getConnection();
    const { json } = await jsonOf([...[database.server.uri, "--prefix", database.prefix], "hold"]);
    expect(json.held).toBe(0);
    expect(json.otherConnections).toBeGreaterThanOrEqual(1);
    other.release();
  });
});
