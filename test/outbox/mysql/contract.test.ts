import { testOutbox } from "express-affiliate/outbox";
import type mysql from "mysql2/promise";
import { beforeAll, describe, it } from "vitest";
import { testLastingUrgency } from "../../helpers/lasting-urgency.js";
import { type Link, startLink } from "../../helpers/link.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";

const LEASE_MS = 5_000;

describeWithMariaDb("the contract", (database) => {
  let link: Link;
  let pool: mysql.Pool;
  beforeAll(async () => {
    link = await startLink(database.server.connection);
    pool = database.pool({ host: link.host, port: link.port, connectionLimit: 20 });
  });

  testOutbox(
    "mysqlOutbox",
    {
      create: () => database.create({ pool, leaseMs: LEASE_MS }),
      createSmall: () => database.create({ maxEvents: 100, maxDeadLetters: 10, maxDeadLetterBytes: 50_000 }),
      maxDeadLetters: 10,
      maxDeadLetterBytes: 50_000,
      reopen: () => database.reopen(),
      hasCircuits: true,
      schedules: true,
      findsPersons: true,
      cutOff: () => link.cut(),
      restore: () => link.restore(),
      leaseMs: LEASE_MS,
    },
    { describe, it },
  );
  testLastingUrgency(() => database.create({ maxEvents: 100 }));
});
