import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/mysql/database.js";
import { forgetOld } from "../../../src/outbox/mysql/upkeep.js";
import type { Clock } from "../../../src/shared/clock.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb, virtualPool } from "../../helpers/mysql.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

const DAY_MS = 86_400_000;

describeWithMariaDb("a MariaDB server whose clock is set", (database) => {
  testServerClocks({
    async open({ isFirst, server, clock, ...timing }) {
      const pool = virtualPool(database.pool(), server);
      const open = isFirst ? database.create : database.reopen;
      const outbox = await open({ pool, ...timing }, clock);
      return { outbox, settled: pool.settled };
    },
    claimAll: database.claimAll,
    async forgetting(server) {
      await (await database.create()).close();
      return forgetter(server);
    },
    forgottenBy: async () => Number((await database.sql("select at from $prefixclock"))[0]?.at),
  });

  /** What a process does each minute to forget old ids. */
  function forgetter(server: Pick<Clock, "now">): () => Promise<void> {
    const { prefix } = database;
    const opened = openDatabase(virtualPool(database.pool(), server), { prefix, migrate: false });
    return () => forgetOld(opened, 30 * DAY_MS);
  }

  test("ahead when the outbox is made, and then right, forgets no id delivered afterwards", async () => {
    await using stage = await Stage.open(() => database.create());
    let ahead = 31 * DAY_MS;
    const forget = forgetter({ now: () => Date.now() + ahead });
    await forget();
    ahead = 0;
    const { live, settle } = await stage.handOver(sample("payment"));
    settle({ type: "delivered" });
    await stage.empty();

    await forget();

    expect(await stage.outbox.add(live.event)).toBe("duplicate");
  });
});
