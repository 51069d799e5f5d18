import { describe, it } from "vitest";
import { testOutbox } from "../../../src/testing/contract/index.js";
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
      handsOver: true,
      cutOff: () => database.server.halt("immediate"),
      restore: () => database.server.resume(),
    },
    { describe, it },
  );
});
