import { priorityOf } from "../../kinds.js";
import { ENDPOINTS } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { ServerClock } from "../sql/server-clock.js";
import { URGENCIES } from "../urgency.js";
import type { Database } from "./database.js";
import { due, integer, listOf, NOW } from "./literals.js";
import { periodIn } from "./sweep.js";
import { canBe, NOT_ENTERED } from "./urgency.js";

export type ServerTime = ReturnType<typeof createServerTime>;

const SET_RIGHT_AT_ONCE = 500;
// Processes may see the time of one server differ by so much.
const SLACK_MS = 1_000;
// Long enough for each running process to renew its leases by the new time, even if its leases are longer than ours.
const LEAST_PATIENCE_MS = 60_000;

/** The parts of the index with a destination's queued events, each as a condition. */
const PARTS = ENDPOINTS.flatMap((endpoint) =>
  [...URGENCIES.filter((urgency) => canBe(urgency, endpoint)).map(priorityOf), NOT_ENTERED].flatMap(
    (urgency) =>
      [0, 1].map((tried) => `urgency = ${urgency} and endpoint = '${endpoint}' and tried = ${tried}`),
  ),
);

/** Follows the server's clock, and corrects the table's times where that clock was set back. */
export function createServerTime(
  database: Database,
  options: {
    prefix: string;
    leaseMs: number;
    clock: Clock;
    onSetRight: () => void;
  },
) {
  const { prefix, leaseMs, clock, onSetRight } = options;
  const events = `\`${prefix}events\``;
  const serverClock = new ServerClock(clock, Math.max(leaseMs, LEAST_PATIENCE_MS));

  /** Shortens rests and leases that the clock's change would have made longer. */
  async function setRight(destination: number): Promise<void> {
    const isAhead = `due_at > ${NOW} + ${SLACK_MS} and written_at > ${NOW} + ${SLACK_MS}`;
    const parts = PARTS.map(
      (part) => `(
        select seq from ${events} force index (\`${prefix}events_due\`)
        where state = 'queued' and destination = ${destination} and ${part} and period >= ${periodIn(NOW)} and ${isAhead}
        order by period desc, due_at desc limit ${SET_RIGHT_AT_ONCE})`,
    );
    let rows: { seq: number }[];
    do {
      rows = await database.rows(
        `select seq from (${parts.join(" union all ")}) as ahead limit ${SET_RIGHT_AT_ONCE}`,
      );
      if (rows.length === 0) return;
      await database.write(
        `update ${events} force index (primary) set ${due(`${NOW} + (due_at - written_at)`)}
         where seq in (${listOf(rows.map(({ seq }) => String(seq)))}) and state = 'queued' and ${isAhead}`,
      );
      onSetRight();
    } while (rows.length === SET_RIGHT_AT_ONCE);
  }

  return {
    /** Leases that end before this time are over, in SQL. A clock that was just set ahead ends none. */
    get leaseEnd(): string {
      const { latest } = serverClock;
      return latest === null ? NOW : `least(${NOW}, ${integer(latest)})`;
    },
    /** Reads the server's clock. */
    async look(destination: number): Promise<void> {
      const askedAt = clock.monotonic();
      const [row] = await database.rows<{ now: number }>(`select ${NOW} as now`);
      if (serverClock.tell(Number(row?.now), askedAt)) await setRight(destination);
    },
  };
}
