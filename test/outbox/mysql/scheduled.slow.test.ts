import { describeWithMariaDb } from "../../helpers/mysql.js";
import { testScheduledPayments } from "../queue/scheduled-payments.js";

describeWithMariaDb("scheduled payments in MariaDB", (database) =>
  testScheduledPayments(database, ({ id }) =>
    database.sql("update $prefixevents set at_ms = 1 where id = ?", [id]),
  ),
);
