import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { retryIn } from "../../../src/testing/contract/recorder.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { runNode, userProject } from "../../helpers/user-project.js";

const VICTIM = `
import { affiliate } from "express-affiliate";
import { mysqlOutbox } from "express-affiliate/mysql";
import mysql from "mysql2/promise";
import { createServer } from "node:http";

const [uri, prefix] = process.argv.slice(2);
const service = createServer((req) => req.resume().on("end", () => console.log(req.url))).listen(0, "127.0.0.1", () => {
  const tracker = affiliate({
    baseUrl: "http://127.0.0.1:" + service.address().port,
    clientId: 1,
    outbox: mysqlOutbox({ pool: mysql.createPool(uri), prefix, leaseMs: 1_000 }),
  });
  tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "one" });
  tracker.trackPayment({ paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 }, { clickId: "two" });
  tracker.trackPayment({ paymentId: 2, customerEmail: "ann@shop.example", leadValue: 9 }, { clickId: "two" });
});
`;

const ANOTHER = "claimed_by = random_bytes(16)";

describeWithMariaDb("faults", (database) => {
  const { create, reopen, sql } = database;

  test("an event waits in memory while the server does not answer, and its receipt is there within a second", async () => {
    await using stage = await Stage.open(() => create());
    stage.start();
    await stage.add(sample("click"));
    await stage.delivery.deliverNext();
    await stage.empty();
    const events = [sample("payment"), sample("payment")];

    database.server.suspend();
    try {
      for (const event of events) expect(await stage.outbox.add(event)).toBe("in-memory");
      expect(stage.outbox.durable).toBe(false);
      expect(stage.outbox.counts().queued).toBe(2);
    } finally {
      database.server.wake();
    }

    const ids = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    expect(ids.sort()).toEqual(events.map(({ id }) => id).sort());
    await expect.poll(() => stage.outbox.durable).toBe(true);
  });

  test("a report in a transaction fails with the transaction when the server goes away", async () => {
    const outbox = await create();
    const connection = await database.pool().getConnection();
    connection.on("error", () => {});
    await connection.beginTransaction();
    await database.server.halt("immediate");

    await expect(outbox.add(sample("payment"), { transaction: connection })).rejects.toThrow();

    connection.destroy();
    await database.server.resume();
    await outbox.close();
  });

  test("goes on when every connection is cut", async () => {
    const pool = database.pool({ connectionLimit: 4 });
    await using stage = await Stage.open(() => create({ pool }));
    stage.delivery.expectsFailures = true;
    stage.start();
    await stage.add(sample("click"));
    await stage.delivery.deliverNext();
    const others = await sql("select id from information_schema.processlist where id <> connection_id()");

    for (const { id } of others) await sql(`kill ${id}`).catch(() => {});
    const event = sample("payment");
    await stage.add(event);

    expect(await stage.delivery.deliverNext()).toBe(event.id);
  });

  test("an event taken over, and given back untried, is as much in doubt as before", async () => {
    const event = sample("payment");
    const dead = await create();
    await dead.add(event);
    await sql(`update $prefixevents set ${ANOTHER}, due_at = 1`);
    await dead.close();
    {
      await using stage = await Stage.open(() => reopen());
      stage.start();
      expect((await stage.delivery.next()).live.interrupted).toBe(true);
    }

    await using stage = await Stage.open(() => reopen());
    stage.start();
    expect((await stage.delivery.next()).live).toMatchObject({ event, interrupted: true });
  });

  test("a delivery that takes longer than the lease stays with its process", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }));
    stage.start();
    await stage.add(sample("payment"));
    const underWay = await stage.delivery.next();
    const [{ due_at: due }] = await sql("select due_at from $prefixevents");
    await using other = await Stage.open(() => reopen({ leaseMs: 1_000 }));
    other.start();

    await expect.poll(() => Date.now() > due, { timeout: 5_000 }).toBe(true);
    await expect
      .poll(() => sql("select due_at > ? as renewed from $prefixevents", [due]))
      .toEqual([{ renewed: 1 }]);
    expect(underWay.live.isHeld?.()).toBe(true);
    underWay.settle({ type: "delivered" });
    await stage.empty();
    expect(other.delivery.ids).toEqual([]);
  });

  test("a process finds out what another one has taken over, and of that a delivery counts, and no other word", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }));
    stage.start();
    await stage.add(sample("payment"), sample("payment"), sample("payment"));
    const [released, tried, delivered] = [
      await stage.delivery.next(),
      await stage.delivery.next(),
      await stage.delivery.next(),
    ];
    await sql(`update $prefixevents set ${ANOTHER}, due_at = due_at + 3600000`);
    await expect.poll(() => delivered.live.isHeld?.()).toBe(false);

    released.settle({ type: "release" });
    tried.settle(retryIn(0));
    delivered.settle({ type: "delivered" });
    await stage.holds(2);

    expect(
      await sql("select history, claimed_by is null as free from $prefixevents where state = 'queued'"),
    ).toEqual([
      { history: null, free: 0 },
      { history: null, free: 0 },
    ]);
  });

  test("a payment that was held although it was never sent is queued again", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }));
    stage.start();
    const event = sample("payment");
    await stage.add(event);
    const late = await stage.delivery.next();
    await sql(
      `update $prefixevents set state = 'dead', claimed_by = null, reason = 'unconfirmed',
         death = '{"reason":"unconfirmed","code":"ERR_INTERRUPTED","attempts":1}'`,
    );
    await expect.poll(() => late.live.isHeld?.()).toBe(false);

    late.settle({ type: "release" });

    expect((await stage.delivery.next()).live).toMatchObject({ event, interrupted: false });
  });

  test("takes over from a process that was killed: its payment under way is held, its click goes out again", async () => {
    await (await create()).close();
    const project = await userProject({ "victim.mjs": VICTIM }, ["express", "mysql2"]);
    const victim = runNode(project, ["victim.mjs", database.server.uri, database.prefix]);
    const lines = createInterface({ input: victim.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    const paths = [(await lines.next()).value, (await lines.next()).value];
    expect(paths.map((path) => path.split("/").at(-1)).sort()).toEqual(["click", "payment"]);
    victim.kill("SIGKILL");
    await once(victim, "exit");

    await using stage = await Stage.open(() => reopen(), 1);
    stage.start();
    const taken = [await stage.delivery.next(), await stage.delivery.next()];

    expect(taken.map(({ live }) => [live.event.kind, live.interrupted]).sort()).toEqual([
      ["click", true],
      ["payment", true],
    ]);
    for (const { settle } of taken) settle({ type: "delivered" });
    const { live } = await stage.delivery.next();
    expect(live).toMatchObject({ interrupted: false, event: { kind: "payment" } });
  });
});
