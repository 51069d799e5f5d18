import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { postgresMigrations } from "express-affiliate/postgres";
import fc from "fast-check";
import { beforeEach, describe, expect, it, test } from "vitest";
import { DESTINATION, sample } from "../../../src/testing/contract/samples.js";
import { REJECTED, Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startService } from "../../helpers/service.js";
import { startTracker } from "../../helpers/tracker.js";
import { jsonOf, outbox } from "./helpers.js";
import { testRestore } from "./restore.js";

const run = promisify(execFile);

describeWithPostgres("an outbox in Postgres", (database) => {
  const { create, reopen, sql } = database;
  const here = () => [database.cluster.connectionString, "--schema", database.schema];

  it("is shown, and decided about, where its host is not running", async () => {
    await using stage = await Stage.open(() => create());
    const dead = [sample("payment"), sample("registration"), sample("click")] as const;
    await stage.giveUp(dead.slice(0, 2), { ...REJECTED, message: "not Ann O'Neill <ann@shop.example>" });
    await stage.giveUp(dead.slice(2), { reason: "unconfirmed", code: "ECONNRESET", attempts: 1 });
    stage.delivery.capacity = 0;
    await stage.add(sample("click"));
    await stage.close();

    expect(await outbox([...here(), "status"])).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^ok {6}1 event queued, the oldest for less .*\nok {6}1 event for client id 42\nnote {4}3 dead letters: 2 rejected, 1 unconfirmed$/,
      ),
      err: "",
    });
    expect(await jsonOf([...here(), "status"])).toEqual({
      code: 0,
      json: {
        outbox: "postgres",
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
    expect(out).toContain("422 Unprocessable Entity: not Ann O'Neill <a***@shop.example>\n");
    expect(out).not.toContain("ann@");
    expect(await jsonOf([...here(), "list"])).toMatchObject({
      json: { deadLetters: [{ event: dead[0].data }, { event: dead[1].data }, { reason: "unconfirmed" }] },
    });

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
    expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 3 }]);
    expect(await outbox([...here(), "discard", "--all", "--yes"])).toMatchObject({
      out: "ok      no dead letters",
    });
  });

  it("is found by an address in the environment", async () => {
    await (await create()).close();
    const env = { DATABASE_URL: database.cluster.connectionString };
    const args = ["--url-env", "DATABASE_URL", "status", "--schema", database.schema];
    expect(await outbox(args, { env })).toMatchObject({ code: 0, err: "" });
  });

  it("is not made where it is missing", async () => {
    for (const words of ["status", "list", "retry --all", "discard --all --yes"]) {
      const args = [database.cluster.connectionString, "--schema", "missing", ...words.split(" ")];
      const { code, out, err } = await outbox(args);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(
        /tables in the schema "missing" are missing.*express-affiliate migrations --schema missing/,
      );
      expect(await jsonOf(args)).toEqual({
        code: 1,
        json: { error: { code: "ERR_AFFILIATE_POSTGRES_TABLES", message: err } },
      });
    }
    expect(await sql("select from information_schema.schemata where schema_name = 'missing'")).toEqual([]);
  });

  it("is left alone where a later version has made it", async () => {
    for (const script of postgresMigrations("newer")) await sql(script);
    await sql("insert into newer.migrations (version) values (99)");
    expect(
      await outbox([database.cluster.connectionString, "--schema", "newer", "retry", "--all"]),
    ).toMatchObject({
      code: 1,
      err: expect.stringContaining("install the newer express-affiliate"),
    });
  });

  it("gives back its connection", async () => {
    await (await create()).close();
    await outbox([...here(), "status"]);
    await expect
      .poll(() =>
        sql(
          "select from pg_stat_activity where datname = current_database() and application_name = 'express-affiliate'",
        ),
      )
      .toEqual([]);
  });

  it("says what the server has against who asks", async () => {
    await (await create()).close();
    await sql("create role nobody_here login");
    const url = database.cluster.connectionString.replace("postgres@", "nobody_here:pa55word@");
    const { code, err } = await outbox([url, "--schema", database.schema, "list"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(
        /^postgresOutbox: the database's role lacks a right \(permission denied for schema \w+\): grant it /,
      ),
    });
  });

  test("a host that runs delivers what was retried", async () => {
    const service = await startService((_request, res) => {
      if (service.posted.length === 1) res.statusCode = 422;
      return { success: res.statusCode === 200 };
    });
    const tracker = startTracker({ baseUrl: service.url, outbox: await create() });
    await tracker.trackPayment(
      { paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 },
      { sessionId: "s1" },
    );
    await expect.poll(() => tracker.stats().dead.rejected).toBe(1);

    expect(await jsonOf([...here(), "retry", "--all"])).toEqual({
      code: 0,
      json: { retried: 1, notFound: [] },
    });

    await expect.poll(() => tracker.stats().delivered).toBe(1);
    expect(service.posted).toHaveLength(2);
    const other = await reopen();
    expect(other.counts()).toMatchObject({ queued: 0, dead: { rejected: 0 } });
    await other.close();
  });

  it("shows no password, whatever is wrong", async () => {
    const { host, port } = database.cluster;
    const places = [`${host}:${port}/postgres`, `${host}:${port}/nowhere`, `${host}:1/postgres`];
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
    `postgres://reader:${encoded}@${place}`,
    `postgres://reader:${secret}@${place}`,
    `postgresql://${place}?user=reader&password=${encoded}`,
    `postgresql://${place}?user=reader&password=${secret}`,
    `postgres://reader:${secret}@[${place}`,
  ];
}

describe("a database that cannot be reached", () => {
  it("is said to be so", async () => {
    expect(await outbox(["postgres://shop:pa55word@127.0.0.1:1/shop", "status"])).toEqual({
      code: 1,
      out: "",
      err: "outbox: connect ECONNREFUSED 127.0.0.1:1",
    });
    expect(await jsonOf(["postgres://shop:pa55word@127.0.0.1:1/shop", "list"])).toEqual({
      code: 1,
      json: { error: { code: "ECONNREFUSED", message: "outbox: connect ECONNREFUSED 127.0.0.1:1" } },
    });
  });

  it("is not looked for where the address is none", async () => {
    expect(await outbox(["postgres://shop:pa55word@127.0.0.1:port/shop", "status"])).toMatchObject({
      code: 1,
      err: "outbox: Invalid URL",
    });
  });
});

describeWithPostgres("an outbox in Postgres that is restored", (database) => {
  beforeEach(async () => {
    await (await database.create()).close();
  });

  testRestore({
    open: () => database.reopen({ leaseMs: 1_500 }),
    where: () => [database.cluster.connectionString, "--schema", database.schema],
    async backUp() {
      const { cluster, schema, sql } = database;
      const file = join(scratchDirectory(), "outbox.dump");
      await run("pg_dump", [
        "--format=custom",
        `--schema=${schema}`,
        `--file=${file}`,
        cluster.connectionString,
      ]);
      return async () => {
        await sql("drop schema $schema cascade");
        await run("pg_restore", ["--exit-on-error", `--dbname=${cluster.connectionString}`, file]);
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
    const where = [database.cluster.connectionString, "--schema", database.schema];
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
    const other = await database.pool().connect();
    const { json } = await jsonOf([
      ...[database.cluster.connectionString, "--schema", database.schema],
      "hold",
    ]);
    expect(json.held).toBe(0);
    expect(json.otherConnections).toBeGreaterThanOrEqual(1);
    other.release();
  });
});
