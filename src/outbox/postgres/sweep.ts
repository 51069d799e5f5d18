import { KINDS, priorityOf } from "../../kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { ServerClock } from "../sql/server-clock.js";
import type { Database } from "./database.js";

interface SweepRow {
  readonly scan: string;
  readonly since: string;
  readonly swept_at: string;
  readonly took_ms: string;
}

// A full sweep steps over each dead row; these stay for as long as another session's snapshot is open. A short one steps over the
// latest alone.
const SHARE_OF_TIME = 1 / 20;
const AT_MOST_EVERY_MS = 1_000;
const SHORT_EVERY_MS = 250;
const AT_LEAST_EVERY_MS = 60_000;
const LONG_TRANSACTION_MS = 10_000;
const SET_RIGHT_AT_ONCE = 1_000;

/** The endpoints, and the urgencies: each endpoint with each urgency that its events can have. */
const ALL: readonly [endpoints: string[], urgencies: number[]] = [[], []];
for (const endpoint of ENDPOINTS) {
  for (const urgency of KINDS.map(priorityOf).filter((each) => each >= priorityOf(kindOf(endpoint)))) {
    ALL[0].push(endpoint);
    ALL[1].push(urgency);
  }
}

/**
 * Finds the part of the index that has only dead rows, so that no claim scans it. A full sweep scans all events, and ends the
 * leases that are over; it is made once a second, or less often where it takes long, at least once a minute. A short sweep, four times
 * a second, scans the events that have come since the last one.
 *
 * @param options.schema a quoted identifier.
 * @param options.pollMs how often at most, in milliseconds; never more often than once a second.
 */
export function createSweep(
  database: Database,
  { schema, leaseMs, pollMs, clock }: { schema: string; leaseMs: number; pollMs: number; clock: Clock },
) {
  const serverClock = new ServerClock(clock, leaseMs);
  const leastMs = Math.min(pollMs, AT_MOST_EVERY_MS);
  let since = new Map<string, number>();
  let sweptAt: number | null = null;
  let toldAt = 0;
  /** The earliest due time of an event that came since the last sweep began. */
  let earliest = Number.POSITIVE_INFINITY;
  let nextAt = Number.NEGATIVE_INFINITY;
  let nextFullAt = Number.NEGATIVE_INFINITY;

  const sweepText = `
    select scan, since::text, swept_at::text, took_ms::text from ${schema}.sweep($1, $2, $3, $4, $5, $6)`;
  const setRightText = `select ${schema}.set_right($1, $2, $3, ${SET_RIGHT_AT_ONCE})::text as number`;

  async function sweep(destination: number, isFull: boolean): Promise<void> {
    const from = isFull ? null : JSON.stringify(Object.fromEntries([...since.keys()].map(fromOf)));
    earliest = Number.POSITIVE_INFINITY;
    const askedAt = clock.monotonic();
    try {
      const rows = await database.query<SweepRow>(sweepText, [
        destination,
        serverClock.latest,
        ...ALL,
        from,
        sweptAt,
      ]);
      since = new Map(rows.map((row) => [row.scan, Number(row.since)]));
      sweptAt = Number(rows[0]?.swept_at);
      toldAt = clock.monotonic();
      // The last one is the latest: each was found after the one before it.
      const restMs = Number(rows.at(-1)?.took_ms) / SHARE_OF_TIME;
      nextAt = toldAt + Math.min(leastMs, SHORT_EVERY_MS);
      if (isFull) nextFullAt = toldAt + Math.min(Math.max(leastMs, restMs), AT_LEAST_EVERY_MS);
      if (serverClock.tell(sweptAt, askedAt)) await setRight(destination);
    } catch (error) {
      sweptAt = null;
      nextFullAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  /** Shortens rests and leases that became longer because the server's clock was set back. */
  async function setRight(destination: number): Promise<void> {
    let number: number;
    do {
      const [row] = await database.query<{ number: string }>(setRightText, [destination, ...ALL]);
      number = Number(row?.number);
    } while (number === SET_RIGHT_AT_ONCE);
  }

  return {
    /** Sweeps where that is due. */
    async ifDue(destination: number): Promise<void> {
      const now = clock.monotonic();
      if (now >= nextFullAt) await sweep(destination, true);
      else if (now >= nextAt) await sweep(destination, false);
    },
    /** When the last sweep was made, by the server's clock; `null`: all has to be scanned. */
    get at(): number | null {
      return sweptAt;
    },
    /** From where events of this endpoint and urgency are to be scanned, by the server's clock; `undefined`: from the first. */
    since: (endpoint: Endpoint, urgency: number, tried: boolean) =>
      sinceOf(`${endpoint} ${urgency} ${tried}`),
    /** The same for the events that have to enter their queues. */
    get enteredUpTo(): number | undefined {
      return sinceOf("lines up");
    },
    /** Does work that may make events due, and notes since when: its transaction may be slow to commit. */
    async during<T>(work: () => Promise<T>): Promise<T> {
      const beganAt = clock.monotonic();
      try {
        return await work();
      } finally {
        if (sweptAt !== null) include(sweptAt + beganAt - toldAt);
      }
    },
    /** Notes that a host's transaction was committed. A long one's events wait for the next full sweep: they were due before many dead rows. */
    hear(dueAt: number): void {
      if (sweptAt !== null && dueAt > sweptAt - LONG_TRANSACTION_MS) include(dueAt);
    },
    /** Notes that there may be an event that is due since then; without a time: since any moment. */
    include,
  };

  function include(dueAt = Number.NEGATIVE_INFINITY): void {
    earliest = Math.min(earliest, dueAt);
    if (dueAt === Number.NEGATIVE_INFINITY) nextFullAt = dueAt;
  }

  function fromOf(scan: string): [scan: string, from: number | null] {
    return [scan, sinceOf(scan) ?? null];
  }

  function sinceOf(scan: string): number | undefined {
    const found = Math.min(since.get(scan) ?? Number.NEGATIVE_INFINITY, earliest);
    return Number.isFinite(found) ? found : undefined;
  }
}
