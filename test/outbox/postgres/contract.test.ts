import { testOutbox } from "express-affiliate/outbox";
import { describe, it } from "vitest";
import { testLastingUrgency } from "../../helpers/lasting-urgency.js";
import { describeWithPostgresServer } from "../../helpers/postgres.js";

describeWithPostgresServer("the contract", (database) => {
  testOutbox(
    "postgresOutbox",
    {
      create: () => database.create(),
      createSmall: () => database.create({ maxEvents: 100, maxDeadLetters: 10, maxDeadLetterBytes: 50_000 }),
      maxDeadLetters: 10,
      maxDeadLetterBytes: 50_000,
      reopen: () => database.reopen(),
      hasCircuits: true,
      schedules: true,
      findsPersons: true,
      cutOff: () => database.cluster.halt("immediate"),
      restore: () => database.cluster.resume(),
    },
    { describe, it },
  );
  testLastingUrgency(() => database.create({ maxEvents: 100 }));
});
