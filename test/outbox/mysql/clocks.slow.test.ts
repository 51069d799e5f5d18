import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/mysql/database.js";
import { forgetOld } from "../../../src/outbox/mysql/upkeep.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb, virtualPool } from "../../helpers/mysql.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describeWithMariaDb("a MariaDB server whose clock is set", (database) => {
  testServerClocks({
    async open({ isFirst, server, clock, ...timing }) {
      const pool = virtualPool(database.pool(), server);
      const open = isFirst ? database.create : database.reopen;
      const outbox = await open({ pool, ...timing }, clock);
      return { outbox, settled: pool.settled };
    },
    claimAll: (at, until) =>
      database.sql("update $prefixevents set claimed_by = random_bytes(16), written_at = ?, due_at = ?", [
        at,
        until,
      ]),
  });

  /** A server whose clock a test sets, and what a process does each minute to forget old ids. */
  function setServer() {
    const { prefix } = database;
    const server = {
      time: Date.now(),
      async forget() {
        await forgetOld(opened, { prefix, rememberMs: 30 * DAY_MS });
      },
    };
    const opened = openDatabase(virtualPool(database.pool(), { now: () => server.time }), {
      prefix,
      migrate: false,
    });
    return server;
  }

  test("ahead: the time by which ids are forgotten moves at most twice as fast as time passes, however many processes there are", async () => {
    await (await database.create()).close();
    const server = setServer();
    const began = server.time;
    const ofAll = () => Promise.all(Array.from({ length: 8 }, server.forget));
    const passed = async () => Number((await database.sql("select at from $prefixclock"))[0]?.at) - began;
    await ofAll();
    expect(await passed()).toBe(0);

    server.time += 31 * DAY_MS;
    await ofAll();
    expect(await passed()).toBe(2 * MINUTE_MS);
    server.time += MINUTE_MS / 2;
    await ofAll();
    expect(await passed()).toBe(3 * MINUTE_MS);

    server.time = began + 4 * MINUTE_MS;
    await ofAll();
    expect(await passed()).toBe(3 * MINUTE_MS);
    server.time += MINUTE_MS;
    await ofAll();
    expect(await passed()).toBe(5 * MINUTE_MS);
  });

  test("ahead when the outbox is made, and then right, forgets no id delivered afterwards", async () => {
    await using stage = await Stage.open(() => database.create());
    const server = setServer();
    server.time += 31 * DAY_MS;
    await server.forget();
    server.time -= 31 * DAY_MS;
    const event = sample("payment");
    stage.start();
    await stage.add(event);
    await stage.delivery.deliverNext();
    await stage.empty();

    await server.forget();

    expect(await stage.outbox.add(event)).toBe("duplicate");
  });
});
