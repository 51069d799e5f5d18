import type { Clock } from "../../shared/clock.js";
import { ServerClock } from "../sql/server-clock.js";
import type { Database } from "./database.js";
import { due, integer, isOneOf, NOW } from "./literals.js";
import { isInPart, PARTS, periodIn } from "./periods.js";

export type ServerTime = ReturnType<typeof createServerTime>;

const SET_RIGHT_AT_ONCE = 500;
// Chosen: processes may see one server's time differ by so much.
const SLACK_MS = 1_000;
// Each running process can renew its leases by the new time, even if they are longer than ours.
const LEAST_PATIENCE_MS = 60_000;

/** Follows the server's clock, and corrects the table's times if it was set back. */
export function createServerTime(
  database: Database,
  { leaseMs, clock, onSetRight }: { leaseMs: number; clock: Clock; onSetRight: () => void },
) {
  const serverClock = new ServerClock(clock, Math.max(leaseMs, LEAST_PATIENCE_MS));

  /** Shortens rests and leases that the clock's change has lengthened. */
  async function setRight(destination: number): Promise<void> {
    const isAhead = `due_at > ${NOW} + ${SLACK_MS} and written_at > ${NOW} + ${SLACK_MS}`;
    const parts = PARTS.map(
      (part) => `(
        select seq from ${database.eventsByDue}
        where state = 'queued' and destination = ${destination} and ${isInPart(part)} and period >= ${periodIn(NOW)} and ${isAhead}
        order by period desc, due_at desc limit ${SET_RIGHT_AT_ONCE})`,
    );
    let rows: { seq: number }[];
    do {
      rows = await database.rows(
        `select seq from (${parts.join(" union all ")}) as ahead limit ${SET_RIGHT_AT_ONCE}`,
      );
      if (rows.length === 0) return;
      await database.write(
        `update ${database.eventsBySeq} set ${due(`${NOW} + (due_at - written_at)`)}
         where ${isOneOf(rows)} and state = 'queued' and ${isAhead}`,
      );
      onSetRight();
    } while (rows.length === SET_RIGHT_AT_ONCE);
  }

  return {
    /** SQL: leases that end before it are over. A clock just set ahead ends none. */
    get leaseEnd(): string {
      const { latest } = serverClock;
      return latest === null ? NOW : `least(${NOW}, ${integer(latest)})`;
    },
    async look(destination: number): Promise<void> {
      const askedAt = clock.monotonic();
      const [row] = await database.rows<{ now: number }>(`select ${NOW} as now`);
      if (serverClock.tell(Number(row?.now), askedAt)) await setRight(destination);
    },
  };
}
