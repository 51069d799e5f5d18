import { priorityOf, raisesOthers } from "../../kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { URGENCIES } from "../urgency.js";
import type { Database } from "./database.js";
import { NOW } from "./literals.js";
import { canBe, NOT_ENTERED } from "./urgency.js";

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
// A sweep reads dead rows too, and these stay while another session's snapshot is open: so it runs for a small share of the time.
const SHARE_OF_TIME = 1 / 20;
const AT_MOST_EVERY_MS = 100;
const AT_LEAST_EVERY_MS = 60_000;
// A statement may commit this much later than it has read the server's clock.
const SLACK_MS = 2_000;
/** Where a sweep finds so many events in a part, a search scans the part from the first on: it finds enough before the part's end. */
const SEEN_AT_ONCE = 32;
const EXTRA_AT_MOST = 16;

/** The parts that a search looks through. No click has to enter a queue. */
const PARTS: readonly IndexPart[] = ENDPOINTS.flatMap((endpoint) => {
  const urgencies = URGENCIES.filter((urgency) => canBe(urgency, endpoint)).map(priorityOf);
  const entered = urgencies.flatMap((urgency) => [
    { urgency, endpoint, tried: 0 as const },
    { urgency, endpoint, tried: 1 as const },
  ]);
  return raisesOthers(kindOf(endpoint))
    ? [...entered, { urgency: NOT_ENTERED, endpoint, tried: 0 as const }]
    : entered;
});

/** The period of a time, in SQL. */
export const periodIn = (time: string) => `(${time} div ${PERIOD_MS})`;

const periodOf = (time: number) => Math.floor(time / PERIOD_MS);
const keyOf = ({ urgency, endpoint, tried }: IndexPart) => `${urgency} ${endpoint} ${tried}`;

/**
 * Finds the periods in which events wait, so that no claim scans a period that has only dead rows. A search names single periods:
 * the server ends the scan of a period at the period's end. It would continue the scan of a range to the next live row, through the
 * dead rows of other parts.
 *
 * An event that another process has released, left behind or committed late waits for the next sweep. The next sweep is due after
 * 100 ms, or after twenty times as long as the last one took, but at most after a minute.
 */
export function createSweep(database: Database, { prefix, clock }: { prefix: string; clock: Clock }) {
  const events = `\`${prefix}events\``;
  let seen: { readonly destination: number; readonly periods: Map<string, number[]> } | undefined;
  /** Periods of events that were noted since the last sweep began. */
  let extra = new Set<number>();
  let sweptAt = 0;
  let askedAt = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let mayMiss = false;
  let running: Promise<void> | undefined;

  async function sweep(destination: number): Promise<void> {
    // This sweep may miss an event that is noted from here on. If the sweep fails, the next search begins another.
    seen = undefined;
    extra = new Set();
    mayMiss = false;
    askedAt = clock.monotonic();
    const selects = PARTS.map(
      ({ urgency, endpoint, tried }, nth) => `(
        select ${nth} as part, period as at from ${events} force index (\`${prefix}events_due\`)
        where state = 'queued' and destination = ${destination}
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

  /** The periods from the last sweep until now. */
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
    /** Sweeps if that is due. Resolves to the condition for each part, its periods, for a search that begins at once. */
    async of(destination: number): Promise<(part: IndexPart) => string> {
      if (seen?.destination !== destination || mayMiss || clock.monotonic() >= nextAt) {
        running ??= sweep(destination).finally(() => {
          running = undefined;
        });
        await running;
      }
      return seen?.destination === destination ? periodsOf : () => `period <= ${periodIn(NOW)}`;
    },
    /** Notes that an event may wait that became due at this time. */
    include(dueAt: number): void {
      extra.add(periodOf(dueAt));
      if (extra.size > EXTRA_AT_MOST) mayMiss = true;
    },
    /** Notes that events may wait that became due at any time: the next search sweeps first. */
    includeAll(): void {
      mayMiss = true;
    },
  };
}
