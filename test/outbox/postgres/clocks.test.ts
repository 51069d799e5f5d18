import { openDatabase } from "../../../src/outbox/postgres/database.js";
import { forgetOld } from "../../../src/outbox/postgres/upkeep.js";
import { describeWithPostgres, virtualPool } from "../../helpers/postgres.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

const DAY_MS = 86_400_000;

describeWithPostgres("a PostgreSQL server whose clock is set", (database) => {
  testServerClocks({
    async open({ isFirst, server, clock, ...timing }) {
      const pool = virtualPool(database.pool(), server);
      const open = isFirst ? database.create : database.reopen;
      const outbox = await open({ pool, listen: false, ...timing }, clock);
      return { outbox, settled: pool.settled };
    },
    claimAll: database.claimAll,
    async forgetting(server) {
      await (await database.create()).close();
      const { schema } = database;
      const opened = openDatabase(virtualPool(database.pool(), server), { schema, migrate: false });
      return () => forgetOld(opened, 30 * DAY_MS);
    },
    async forgottenBy() {
      const [row] = await database.sql(
        "select (extract(epoch from at) * 1000)::float8 as at from $schema.clock",
      );
      return Math.round(Number(row?.at));
    },
  });
});
