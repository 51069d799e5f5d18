import type { Outbox } from "express-affiliate/outbox";
import { postgresOutbox } from "express-affiliate/postgres";
import type { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithPostgresServer, virtualPool } from "../../helpers/postgres.js";
import { LEAST, testPromises } from "../../helpers/promises.js";

describeWithPostgresServer("on the Postgres outbox", (database) => {
  let schemas = 0;

  function create(clock: FakeClock): Outbox {
    const pool = virtualPool(database.pool(), clock);
    clock.settled = pool.settled;
    return postgresOutbox(
      { pool, schema: `promises_${++schemas}`, listen: false, pollMs: 15_000, leaseMs: 600_000 },
      clock,
    );
  }

  testPromises(create, LEAST);
});
