import { describe, it } from "vitest";
import { testOutbox } from "../../../src/testing/contract/index.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

describeWithPostgres("the contract", ({ create, reopen }) => {
  testOutbox(
    "postgresOutbox",
    { create: () => create(), createSmall: () => create({ maxEvents: 100 }), reopen: () => reopen() },
    { describe, it },
  );
});
