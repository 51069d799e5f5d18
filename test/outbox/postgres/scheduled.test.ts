import { describeWithPostgres } from "../../helpers/postgres.js";
import { testScheduledPayments } from "../queue/scheduled-payments.js";

describeWithPostgres("scheduled payments in PostgreSQL", (database) =>
  testScheduledPayments(database, ({ id }) =>
    database.sql("update $schema.events set at_ms = 1 where id = $1", [id]),
  ),
);
