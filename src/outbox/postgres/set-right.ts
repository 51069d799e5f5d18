import { KINDS, priorityOf } from "../../conversion/kinds.js";
import { ENDPOINTS, kindOf } from "../../service/endpoints.js";
import type { Database } from "./database.js";

const AT_ONCE = 1_000;

/** The endpoints, each with each urgency that its events can have. */
const ALL = ENDPOINTS.flatMap((endpoint) =>
  KINDS.map(priorityOf)
    .filter((urgency) => urgency >= priorityOf(kindOf(endpoint)))
    .map((urgency) => ({ endpoint, urgency })),
);

/** Shortens rests and leases that became longer because the server's clock was set back. */
export function createSetRight(database: Database) {
  const text = `select ${database.schema}.set_right($1, $2, $3, ${AT_ONCE})::text as number`;

  return async function setRight(destination: number): Promise<void> {
    const values = [destination, ALL.map(({ endpoint }) => endpoint), ALL.map(({ urgency }) => urgency)];
    let number: number;
    do {
      const [row] = await database.query<{ number: string }>(text, values);
      number = Number(row?.number);
    } while (number === AT_ONCE);
  };
}
