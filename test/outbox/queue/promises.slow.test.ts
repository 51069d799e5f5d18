import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { LEAST, testPromises } from "../../helpers/promises.js";

const TIMES = { pollMs: 15_000, leaseMs: 600_000 };
let outboxes = 0;

describeWithPostgres("on the Postgres outbox", ({ virtualPool }) =>
  testPromises((clock) => {
    const options = { pool: virtualPool(clock), schema: `promises_${++outboxes}`, listen: false };
    return postgresOutbox({ ...options, ...TIMES }, clock);
  }, LEAST),
);

describeWithMariaDb("on the MySQL outbox", ({ virtualPool }) =>
  testPromises((clock) => {
    const options = { pool: virtualPool(clock), prefix: `promises_${++outboxes}_` };
    return mysqlOutbox({ ...options, ...TIMES }, clock);
  }, LEAST),
);
