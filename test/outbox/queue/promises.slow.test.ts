import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import { turnOf } from "../../../proof/shared/turn.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { GROUPS, LEAST, testPromises } from "../../helpers/promises.js";
import { isAll } from "../../helpers/scale.js";

const TIMES = { pollMs: 15_000, leaseMs: 600_000 };
let outboxes = 0;

describeWithPostgres("on the Postgres outbox", ({ virtualPool }) =>
  testPromises(
    (clock) => {
      const options = { pool: virtualPool(clock), schema: `promises_${++outboxes}` };
      return postgresOutbox({ ...options, ...TIMES }, clock);
    },
    { ...LEAST, groups: groupsInTurn("promises on postgres") },
  ),
);

describeWithMariaDb("on the MySQL outbox", ({ virtualPool }) =>
  testPromises(
    (clock) => {
      const options = { pool: virtualPool(clock), prefix: `promises_${++outboxes}_` };
      return mysqlOutbox({ ...options, ...TIMES }, clock);
    },
    { ...LEAST, groups: groupsInTurn("promises on mysql") },
  ),
);

/**
 * Two for each commit; at night all. On a server an hour of virtual time takes minutes, and delivery
 * is the same code over all outboxes: memory and disk show all of it. A flood takes the longest.
 */
function groupsInTurn(choice: string): (typeof GROUPS)[number][] {
  if (isAll) return [...GROUPS];
  const short = GROUPS.filter((group) => group !== "a flood");
  const first = turnOf(choice, short.length);
  const second = (first + short.length / 2) % short.length;
  return short.filter((_, nth) => nth === first || nth === second);
}
