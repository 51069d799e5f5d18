import { spawnSync } from "node:child_process";
import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, it } from "vitest";
import { doctorCommand } from "../../../src/cli/doctor/command.js";
import type { Outbox } from "../../../src/outbox/outbox.js";
import { sample, scheduledSample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDbServer } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { outputOf, runNode, userProject } from "../../helpers/user-project.js";
import { startSandbox } from "../../sandbox/helpers.js";
import { runCommand } from "../helpers.js";

async function doctor(args: readonly string[], env: Record<string, string> = {}) {
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

it.skipIf(spawnSync("unshare", ["-mr", "true"]).status !== 0)(
  "the doctor finds it wrong if the directory is on a read-only mount",
  async () => {
    const directory = scratchDirectory();
    // Its log and index stay: without them SQLite could not even read.
    await using stage = await Stage.open(() => diskOutbox({ directory }));
    await stage.add(sample("payment"));
    const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
    const by = ["unshare", "-mr", "sh", "-c", mount, directory];
    const project = await userProject({}, ["@photostructure/sqlite"]);
    const args = ["node_modules/express-affiliate/dist/cli.cjs", "doctor", "--outbox", directory];
    const { stdout } = await outputOf(runNode(project, args, { by }));
    expect(stdout).toContain("cannot be written (attempt to write a readonly database)");
  },
);

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;

async function showsLast(create: () => Outbox | Promise<Outbox>, where: () => readonly string[]) {
  await using stage = await Stage.open(create);
  const [delivered, dead, behind] = [sample("payment"), sample("payment"), sample("payment")];
  const click = sample("click");
  stage.start();
  await stage.add(delivered);
  (await stage.delivery.next()).settle({ type: "delivered" });
  await stage.empty();
  await stage.giveUp([dead]);
  await stage.pause();
  const later = scheduledSample(60_000);
  await stage.add(click, behind, later);
  // A claim that was under way as the capacity changed may have taken one of them.
  stage.delivery.close();
  await stage.close();

  const here = where();
  const { out } = await doctor([...here, "--last"]);
  expect(out.slice(0, 3)).toEqual([
    expect.stringMatching(/^ok {6}the \w+ outbox is there, and of this version$/),
    "ok      it may be written to",
    expect.stringMatching(/^ok {6}2 events queued, the oldest since /),
  ]);
  const line = (mark: string, { kind, id }: { kind: string; id: string }, fate: string) =>
    expect.stringMatching(new RegExp(`^${mark} +${kind} ${id}: ${fate.replaceAll("TIME", TIME)}`));
  const isReported = "reported TIME, (waits|an attempt is under way)";
  expect(out).toEqual(
    expect.arrayContaining([
      line("ok", delivered, "reported TIME, delivered, cancelled, erased or discarded$"),
      line("note", dead, "given up TIME: rejected$"),
      line("ok", click, isReported),
      line("ok", behind, isReported),
      line("ok", later, "reported TIME, waits until TIME$"),
    ]),
  );
  expect((await doctor(here)).out).not.toContainEqual(expect.stringContaining(click.id));
}

describe("doctor --last", () => {
  it("shows what became of the last events of a disk outbox", async () => {
    const directory = scratchDirectory();
    await showsLast(
      () => diskOutbox({ directory }),
      () => ["--outbox", directory],
    );
  });

  it("says of an outbox without events that there were none", async () => {
    const directory = scratchDirectory();
    const opened = diskOutbox({ directory });
    opened.counts();
    await opened.close();
    expect((await doctor(["--outbox", directory, "--last"])).out).toContain(
      "note    no event was reported yet",
    );
  });
});

describeWithMariaDbServer("an outbox in MySQL, to the doctor", (database) => {
  const here = (uri = database.server.uri) => ["--outbox", uri, "--prefix", database.prefix];

  it("shows what became of the last events", () => showsLast(() => database.create(), here));

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
    const { code, out } = await doctor(here(database.server.uri.replace(/\/\/.*@/, "//reader:qZ7secret@")));
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

  it("shows what became of the last events", () => showsLast(() => database.create(), here));

  it("is on a server that takes no writes", async () => {
    await (await database.create()).close();
    const { code, out } = await doctor(here("?options=-c%20default_transaction_read_only%3Don"));
    expect(out[1]).toMatch(/^WRONG +postgresOutbox: the server takes no writes/);
    expect(code).toBe(1);
  });

  it("may not be written to without each of its rights", async () => {
    await (await database.create()).close();
    const user = `user_of_${database.schema}`;
    const where = here();
    where[1] = database.cluster.connectionString.replace("postgres@", `${user}@`);
    await database.sql(`create role ${user} login; grant usage on schema $t to ${user}`);
    await database.sql(`grant select on all tables in schema $t to ${user}`);
    const rights = ["insert", "update", "delete"].map((right) => `${right} on $t.`);
    for (const right of [...rights.map((on) => `${on}events`), ...rights.map((on) => `${on}queues`)]) {
      expect((await doctor(where)).out[1]).toMatch(/^WRONG +postgresOutbox: .* lacks a right .*TABLE/i);
      await database.sql(`grant ${right} to ${user}`);
    }
    expect((await doctor(where)).out[1]).toBe("ok      it may be written to");
  });
});
