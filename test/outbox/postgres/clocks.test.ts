import { describeWithPostgres, virtualPool } from "../../helpers/postgres.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

describeWithPostgres("a PostgreSQL server whose clock is set", (database) => {
  testServerClocks({
    async open({ isFirst, server, clock, ...timing }) {
      const pool = virtualPool(database.pool(), server);
      const open = isFirst ? database.create : database.reopen;
      const outbox = await open({ pool, listen: false, ...timing }, clock);
      return { outbox, settled: pool.settled };
    },
    claimAll: (at, until) =>
      database.sql(
        `update $schema.events
         set claimed_by = gen_random_uuid(), written_at = to_timestamp($1), claimed_until = to_timestamp($2)`,
        [at, until].map((ms) => ms / 1_000),
      ),
  });
});
