import { mysqlOutbox } from "express-affiliate/mysql";
import type { Outbox } from "express-affiliate/outbox";
import type { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithMariaDb, virtualPool } from "../../helpers/mysql.js";
import { LEAST, testPromises } from "../../helpers/promises.js";

describeWithMariaDb("on the MySQL outbox", (database) => {
  let prefixes = 0;

  function create(clock: FakeClock): Outbox {
    const pool = virtualPool(database.pool(), clock);
    clock.settled = pool.settled;
    return mysqlOutbox({ pool, prefix: `promises_${++prefixes}_`, pollMs: 15_000, leaseMs: 600_000 }, clock);
  }

  testPromises(create, LEAST);
});
