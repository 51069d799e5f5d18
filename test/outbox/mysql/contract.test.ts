import { testOutbox } from "express-affiliate/outbox";
import { describe, it } from "vitest";
import { testLastingUrgency } from "../../helpers/lasting-urgency.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";

describeWithMariaDb("the contract", (database) => {
  testOutbox(
    "mysqlOutbox",
    {
      create: () => database.create(),
      createSmall: () => database.create({ maxEvents: 100, maxDeadLetters: 10, maxDeadLetterBytes: 50_000 }),
      maxDeadLetters: 10,
      maxDeadLetterBytes: 50_000,
      reopen: () => database.reopen(),
      hasCircuits: true,
      schedules: true,
      findsPersons: true,
      cutOff: () => database.server.halt("immediate"),
      restore: () => database.server.resume(),
    },
    { describe, it },
  );
  testLastingUrgency(() => database.create({ maxEvents: 100 }));
});
