import { testOutbox } from "express-affiliate/outbox";
import type pg from "pg";
import { beforeAll, describe, it } from "vitest";
import { testLastingUrgency } from "../../helpers/lasting-urgency.js";
import { type Link, startLink } from "../../helpers/link.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

const LEASE_MS = 5_000;

describeWithPostgres("the contract", (database) => {
  let link: Link;
  let pool: pg.Pool;
  beforeAll(async () => {
    link = await startLink(database.cluster);
    pool = database.pool({ host: link.host, port: link.port, max: 20 });
  });

  testOutbox(
    "postgresOutbox",
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
