import { describeWithMariaDb, virtualPool } from "../../helpers/mysql.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

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
});
