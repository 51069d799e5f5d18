import type { EventKind } from "../../events.js";
import type { DeathReason, OutboxCounts } from "../outbox.js";
import type { Database } from "./database.js";
import { inMs } from "./rows.js";

interface CountRow {
  readonly name: EventKind | DeathReason;
  readonly number: string;
  readonly created_at: string | null;
}

const DOUBTS_AT_MOST = 5;

const none = () => ({ click: 0, registration: 0, payment: 0, rejected: 0, unconfirmed: 0, expired: 0 });

export type Counts = ReturnType<typeof createCounts>;

/**
 * How many there are: counted by the server now and then, for other processes add and remove too, and from there on by what
 * this process does. A counter in the database would be one row that every transaction of every host waits for.
 *
 * @param schema a quoted identifier.
 */
export function createCounts(database: Database, schema: string) {
  let numbers = none();
  let oldest: number | null = null;
  let underWay = 0;
  let coming = 0;
  let changes = 0;
  // The first count is better than none.
  let doubts = DOUBTS_AT_MOST;

  const total = () => numbers.click + numbers.registration + numbers.payment;

  return {
    of: (kind: EventKind): number => numbers[kind],
    /** Events that are stored or about to be. */
    get queued(): number {
      return total() + coming;
    },
    get dead(): number {
      return numbers.rejected + numbers.unconfirmed + numbers.expired;
    },
    get current(): Pick<OutboxCounts, "queued" | "dead" | "oldest"> {
      const { rejected, unconfirmed, expired } = numbers;
      return { queued: total(), dead: { rejected, unconfirmed, expired }, oldest };
    },
    add(name: EventKind | DeathReason, number: number, createdAt?: number): void {
      changes++;
      numbers[name] = Math.max(0, numbers[name] + number);
      if (createdAt !== undefined) oldest = Math.min(oldest ?? createdAt, createdAt);
      if (total() === 0) oldest = null;
    },
    /**
     * Runs what will change the numbers: what is counted meanwhile may or may not have it in it.
     *
     * @param adds how many events it may add.
     */
    async during<T>(change: () => Promise<T>, adds = 0): Promise<T> {
      underWay++;
      coming += adds;
      try {
        return await change();
      } finally {
        underWay--;
        coming -= adds;
        changes++;
      }
    },
    /** Has the server count. Where something changed meanwhile the result is thrown away, but not for ever. */
    async take(): Promise<void> {
      const before = changes;
      const quiet = underWay === 0;
      const rows = await database.query<CountRow>(`
        select kind as name, count(*)::text as number, ${inMs("created_at", "min(created_at)")}
        from ${schema}.events group by kind
        union all
        select reason, count(*)::text, null from ${schema}.dead_letters group by reason`);
      if (!(quiet && changes === before) && ++doubts < DOUBTS_AT_MOST) return;
      doubts = 0;
      numbers = none();
      oldest = null;
      for (const { name, number, created_at } of rows) {
        numbers[name] = Number(number);
        if (created_at !== null) oldest = Math.min(oldest ?? Number.POSITIVE_INFINITY, Number(created_at));
      }
    },
  };
}
