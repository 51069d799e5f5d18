import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import type { Destinations } from "../sql/destinations.js";
import { URGENCIES } from "../urgency.js";
import type { Database } from "./database.js";
import { NOW } from "./literals.js";
import { canBe, NOT_ENTERED, urgencyNumber } from "./urgency.js";

export type Sweep = ReturnType<typeof createSweep>;

/** A part of the index: queued events of one destination. */
export interface IndexPart {
  /** As its column has it. */
  readonly urgency: number;
  readonly endpoint: Endpoint;
  readonly tried: 0 | 1;
}

interface SweepRow {
  /** The number of its part; `null` in the row that tells the time. */
  readonly part: number | null;
  /** The period of an event, or the server's time. */
  readonly at: number;
}

/** The length of a period, in milliseconds: as in the column `period`. */
const PERIOD_MS = 8_192;
// A sweep steps over the dead rows; these stay for as long as another session's snapshot is open.
const SHARE_OF_TIME = 1 / 20;
const AT_MOST_EVERY_MS = 100;
const AT_LEAST_EVERY_MS = 60_000;
// A statement may commit so much later than it has read the server's clock.
const SLACK_MS = 2_000;
/** Of so many events, a search scans the part from the first one on: it finds enough before it comes to the part's end. */
const SEEN_AT_ONCE = 32;
const EXTRA_AT_MOST = 16;

/** Queued events that a search looks for. Clicks have no queue to enter. */
const PARTS: readonly IndexPart[] = ENDPOINTS.flatMap((endpoint) => {
  const urgencies = URGENCIES.filter((urgency) => canBe(urgency, endpoint)).map(urgencyNumber);
  const entered = urgencies.flatMap((urgency) => [
    { urgency, endpoint, tried: 0 as const },
    { urgency, endpoint, tried: 1 as const },
  ]);
  return kindOf(endpoint) === "click"
    ? entered
    : [...entered, { urgency: NOT_ENTERED, endpoint, tried: 0 as const }];
});

/** The period of a time, in SQL. */
export const periodIn = (time: string) => `(${time} div ${PERIOD_MS})`;

const periodOf = (time: number) => Math.floor(time / PERIOD_MS);
const keyOf = ({ urgency, endpoint, tried }: IndexPart) => `${urgency} ${endpoint} ${tried}`;

/**
 * Finds the periods in which events wait, so that no claim scans those that have only dead rows. The server ends a scan of single
 * periods where they end. A scan of a range does not end before the next row that lives, and so it would step over the dead
 * rows of other parts too.
 *
 * What another process has given back, left behind or committed late waits for the next sweep: 100 ms, or twenty times as long as a
 * sweep takes, a minute at most.
 */
export function createSweep(
  database: Database,
  { prefix, destinations, clock }: { prefix: string; destinations: Destinations; clock: Clock },
) {
  const events = `\`${prefix}events\``;
  let seen: { readonly destination: string; readonly periods: Map<string, number[]> } | undefined;
  /** Periods of events that were noted since the last sweep began. */
  let extra = new Set<number>();
  let sweptAt = 0;
  let askedAt = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let mayMiss = false;
  let running: Promise<void> | undefined;

  async function sweep(destination: string): Promise<void> {
    // What is noted from here on may come too late for this sweep. If it fails, the next search begins another.
    seen = undefined;
    extra = new Set();
    mayMiss = false;
    askedAt = clock.monotonic();
    const selects = PARTS.map(
      ({ urgency, endpoint, tried }, nth) => `(
        select ${nth} as part, period as at from ${events} force index (\`${prefix}events_due\`)
        where state = 'queued' and destination = ${destinations.numberOf(destination)}
          and urgency = ${urgency} and endpoint = '${endpoint}' and tried = ${tried} and period <= ${periodIn(NOW)}
        order by period limit ${SEEN_AT_ONCE})`,
    );
    const rows = await database.rows<SweepRow>(
      `${selects.join(" union all ")} union all (select null as part, ${NOW} as at)`,
    );
    const found = new Map(PARTS.map((part) => [keyOf(part), [] as number[]]));
    for (const { part, at } of rows) {
      if (part === null) sweptAt = Number(at);
      else found.get(keyOf(PARTS[Number(part)] as IndexPart))?.push(Number(at));
    }
    seen = { destination, periods: found };
    const now = clock.monotonic();
    const restMs = (now - askedAt) / SHARE_OF_TIME;
    nextAt = now + Math.min(Math.max(restMs, AT_MOST_EVERY_MS), AT_LEAST_EVERY_MS);
  }

  /** The periods of this moment. */
  function latest(): number[] {
    const from = periodOf(sweptAt - SLACK_MS);
    const to = periodOf(sweptAt + clock.monotonic() - askedAt + SLACK_MS);
    return Array.from({ length: to - from + 1 }, (_, nth) => from + nth);
  }

  function periodsOf(part: IndexPart): string {
    const found = seen?.periods.get(keyOf(part)) ?? [];
    if (found.length === SEEN_AT_ONCE) {
      const first = Math.min(found[0] as number, ...extra);
      return `period between ${first} and ${periodIn(NOW)}`;
    }
    const all = [...new Set([...found, ...extra, ...latest()])].sort((one, other) => one - other);
    return `period in (${all.join(", ")})`;
  }

  return {
    /** Resolves to conditions for a search that begins at once: the periods of each part. Sweeps before where that is due. */
    async of(destination: string): Promise<(part: IndexPart) => string> {
      if (seen?.destination !== destination || mayMiss || clock.monotonic() >= nextAt) {
        running ??= sweep(destination).finally(() => {
          running = undefined;
        });
        await running;
      }
      return seen?.destination === destination ? periodsOf : () => `period <= ${periodIn(NOW)}`;
    },
    /** Notes that there may be an event that is due since then. */
    include(dueAt: number): void {
      extra.add(periodOf(dueAt));
      if (extra.size > EXTRA_AT_MOST) mayMiss = true;
    },
    /** Notes that there may be events that are due since any moment. */
    includeAll(): void {
      mayMiss = true;
    },
  };
}
