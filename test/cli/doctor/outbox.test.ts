import { diskOutbox } from "express-affiliate/disk";
import { expect, it } from "vitest";
import { doctorCommand } from "../../../src/cli/doctor/command.js";
import { sample } from "../../contract/samples.js";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startSandbox } from "../../sandbox/helpers.js";
import { runCommand } from "../helpers.js";

async function doctor(args: string[], env: Record<string, string> = {}) {
  const { code, out, err } = await runCommand(doctorCommand, args, { env });
  return { code, out: [...out, ...err] };
}

/** A directory in which a payment waits. */
async function withPayment(): Promise<string> {
  const directory = scratchDirectory();
  const outbox = diskOutbox({ directory });
  await outbox.add(sample("payment"));
  await outbox.close();
  return directory;
}

it("the doctor looks into a disk outbox, and examines no service without its address", async () => {
  const { code, out } = await doctor(["--outbox", await withPayment()]);

  expect(out).toEqual([
    "ok      the disk outbox is there, and of this version",
    "ok      it may be written to",
    expect.stringMatching(/^(ok|note) +1 event queued/),
    expect.stringMatching(/^ok +1 event for /),
    "ok      no dead letters",
    "healthy: nothing wrong was found",
  ]);
  expect(code).toBe(0);
});

it("the doctor finds it wrong if there is none, and makes none", async () => {
  const directory = scratchDirectory();
  for (let times = 0; times < 2; times++) {
    const { code, out } = await doctor(["--outbox", directory]);
    expect(out[0]).toMatch(/^WRONG +diskOutbox: there is no /);
    expect(code).toBe(1);
  }
});

it("the doctor examines the service as well, and notes what waits for another", async () => {
  const sandbox = await startSandbox();
  const address = ["--base-url", sandbox.url, "--client-id", String(sandbox.clientId)];
  const { out } = await doctor([...address, "--outbox", await withPayment()]);

  expect(out.findIndex((line) => line.includes("the status endpoint"))).toBeLessThan(
    out.indexOf("ok      the disk outbox is there, and of this version"),
  );
  expect(out).toContainEqual(expect.stringMatching(/^note +1 event for client id 42$/));
});

it("the doctor refuses what does not go together", async () => {
  const url = "mysql://shop:s3cret@127.0.0.1/shop";
  for (const args of [
    ["--schema", "affiliate"],
    ["--outbox", url, "--schema", "affiliate"],
    ["--outbox", ".", "--prefix", "shop_"],
    ["--outbox", url, "--outbox-url-env", "DATABASE_URL"],
    ["--outbox-url-env", "DATABASE_URL"],
    ["--outbox", "redis://shop:s3cret@127.0.0.1"],
    ["--outbox", "mysql://shop:s3cret/word@127.0.0.1/shop"],
    [url],
  ]) {
    const { code, out } = await doctor(args);
    expect(code).toBe(2);
    expect(out.join("\n")).not.toContain("s3cret");
  }
});

describeWithMariaDbServer("an outbox in MySQL, to the doctor", (database) => {
  const here = (uri = database.server.uri) => ["--outbox", uri, "--prefix", database.prefix];

  it("is on a server whose settings let it lose what it has committed", async () => {
    await (await database.create()).close();
    await database.sql("set global innodb_flush_log_at_trx_commit = 2");
    const { code, out } = await doctor(here());
    expect(out.at(-2)).toMatch(/^note +mysqlOutbox: innodb_flush_log_at_trx_commit is 2: if the server's/);
    expect(code).toBe(0);
    await database.sql("set global innodb_flush_log_at_trx_commit = 1");
    expect((await doctor(here())).out.join("\n")).not.toContain("innodb");
  });

  it("may not be written to", async () => {
    await (await database.create()).close();
    await database.sql("create or replace user reader identified by 'qZ7secret'");
    await database.sql("grant select on shop.* to reader");
    const uri = database.server.uri.replace(/\/\/.*@/, "//reader:qZ7secret@");
    const { code, out } = await doctor(here(uri));
    expect(out[1]).toMatch(/^WRONG +mysqlOutbox: the database's user lacks a right/);
    expect(out.join("\n")).not.toContain("qZ7");
    expect(code).toBe(1);
  });
});

describeWithPostgres("an outbox in Postgres, to the doctor", (database) => {
  const here = (query = "") => {
    const { cluster, schema } = database;
    return ["--outbox", cluster.connectionString + query, "--schema", schema];
  };

  it("is on a server that takes no writes", async () => {
    await (await database.create()).close();
    const { code, out } = await doctor(here("?options=-c%20default_transaction_read_only%3Don"));
    expect(out[1]).toMatch(/^WRONG +postgresOutbox: the server takes no writes/);
    expect(code).toBe(1);
  });
});
