import { expect, test } from "vitest";
import { idsOf, sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { around, describeWithMariaDb } from "../../helpers/mysql.js";

// What a node of a Galera cluster says at a commit.
const NOT_CERTIFIED = { errno: 1213, code: "ER_LOCK_DEADLOCK", message: "Deadlock found" };
const NOT_READY = {
  ...{ errno: 1047, code: "ER_UNKNOWN_COM_ERROR" },
  message: "WSREP has not yet prepared node",
};

describeWithMariaDb("a node of a cluster", (database) => {
  const { create } = database;

  function withoutAutocommit() {
    const pool = database.pool({ connectionLimit: 4 });
    pool.on("connection", (connection) => void connection.query("set autocommit = 0"));
    return pool;
  }

  /** A pool without autocommit, of which so many commits fail, and are undone. */
  function failing(error: object, times: number) {
    const pool = withoutAutocommit();
    const left = { times: 0, begin: () => (left.times = times) };
    const cluster = around(pool, async (run, sql) => {
      if (sql !== "commit" || left.times === 0) return run();
      left.times--;
      await run("rollback");
      throw Object.assign(new Error("simulated"), error);
    });
    return { cluster, left };
  }

  test.each([
    ["fails its certification once, and is run again at once", NOT_CERTIFIED, 1, /^queued$/],
    ["fails its certification again and again", NOT_CERTIFIED, 8, /queued|in-memory/],
    ["is not ready", NOT_READY, 2, /queued|in-memory/],
  ])("loses nothing, and reports nothing twice, if a commit %s", async (_name, error, times, outcome) => {
    const { cluster, left } = failing(error, times);
    await using stage = await Stage.open(() => create({ pool: cluster }));
    stage.delivery.expectsFailures = true;
    stage.start();
    const events = Array.from({ length: 20 }, () => sample("payment"));
    left.begin();
    for (const event of events) expect(await stage.outbox.add(event)).toMatch(outcome);

    const ids: string[] = [];
    for (const _ of events) {
      if (ids.length === 5) left.begin();
      ids.push(await stage.delivery.deliverNext());
    }

    expect(ids.sort()).toEqual(idsOf(events).sort());
    await stage.empty();
    expect(left.times).toBe(0);
  });

  test.each([
    ["was demoted, and takes no writes", 1290, "The MySQL server is running with the --read-only option"],
    ["has lost its cluster", 1047, "WSREP has not yet prepared node for application use"],
  ])("that %s is left for the one that new connections reach", async (_name, errno, message) => {
    const left = new WeakSet<object>();
    let hasLeft = false;
    const cluster = around(database.pool(), async (run, sql, { connection }) => {
      if (hasLeft) return left.has(connection) && !sql.startsWith("select @@") ? fail() : run();
      left.add(connection);
      return run();
    });
    const fail = () => {
      throw Object.assign(new Error(message), { errno });
    };
    const outbox = await create({ pool: cluster });
    hasLeft = true;

    expect(await outbox.add(sample("payment"))).toBe("queued");
  });

  test("a transaction has one commit: a claim of which a second one failed would be made again, and find nothing", async () => {
    const last = new WeakMap<object, string>();
    const twice: string[] = [];
    const pool = around(withoutAutocommit(), async (run, sql, { connection }) => {
      if (sql === "commit" && last.get(connection) === sql) twice.push(sql);
      last.set(connection, sql);
      return run();
    });
    await using stage = await Stage.open(() => create({ pool }));
    stage.start();
    await stage.add(sample("payment"));
    await stage.delivery.deliverNext();
    await stage.empty();

    expect(twice).toEqual([]);
  });
});
