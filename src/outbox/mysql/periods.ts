import { isInheritable, priorityOf } from "../../conversion/kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import { URGENCIES } from "../urgency.js";
import type { Database } from "./database.js";
import { NOW } from "./literals.js";
import { canBe, NOT_ENTERED } from "./urgency.js";

export type Periods = ReturnType<typeof createPeriods>;

/** A part of the index: queued events of one destination. */
export interface IndexPart {
  /** As its column has it. */
  readonly urgency: number;
  readonly endpoint: Endpoint;
  readonly tried: 0 | 1;
}

interface PeriodRow {
  /** Of its part; `null` in the row that has the server's time. */
  readonly part: number | null;
  /** An event's period, or the server's time. */
  readonly at: number;
}

/** In milliseconds, as in the column `period`. */
const PERIOD_MS = 8_192;
// A look reads dead rows too, which stay while another session's snapshot is open: it may take this
// share of the time.
const SHARE_OF_TIME = 1 / 20;
const AT_MOST_EVERY_MS = 100;
const AT_LEAST_EVERY_MS = 60_000;
// A statement may commit so much later than it has read the server's clock.
const SLACK_MS = 2_000;
/** A search scans a part with so many from the first on: it finds enough before the part's end. */
const SEEN_AT_ONCE = 32;
const EXTRA_AT_MOST = 16;

/** What a search looks through. No click has to enter a queue. */
export const PARTS: readonly IndexPart[] = ENDPOINTS.flatMap((endpoint) => {
  const urgencies = URGENCIES.filter((urgency) => canBe(urgency, endpoint)).map(priorityOf);
  const entered = urgencies.flatMap((urgency) => [
    { urgency, endpoint, tried: 0 as const },
    { urgency, endpoint, tried: 1 as const },
  ]);
  return isInheritable(kindOf(endpoint))
    ? [...entered, { urgency: NOT_ENTERED, endpoint, tried: 0 as const }]
    : entered;
});

export const periodIn = (time: string) => `(${time} div ${PERIOD_MS})`;

/** SQL: a row is in this part. */
export function isInPart({ urgency, endpoint, tried }: IndexPart): string {
  return `urgency = ${urgency} and endpoint = '${endpoint}' and tried = ${tried}`;
}

const periodOf = (time: number) => Math.floor(time / PERIOD_MS);
const keyOf = ({ urgency, endpoint, tried }: IndexPart) => `${urgency} ${endpoint} ${tried}`;

/**
 * Finds the periods in which events wait, so that no claim scans a period that has only dead rows.
 * A search names single periods: the server ends the scan of a period at its end. It would continue
 * that of a range to the next live row, through the dead rows of other parts.
 *
 * It looks again after 100 ms, or after twenty times as long as the last look took, but at most after
 * a minute: that finds what another process has released, abandoned or committed late.
 */
export function createPeriods(database: Database, clock: Clock) {
  let seen: { readonly destination: number; readonly periods: Map<string, number[]> } | undefined;
  /** Noted since the last look began. */
  let extra = new Set<number>();
  let lookedAt = 0;
  let askedAt = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let mayMiss = false;
  let running: Promise<void> | undefined;

  async function look(destination: number): Promise<void> {
    // This look may miss what is noted from here on. If it fails, the next search looks again.
    seen = undefined;
    extra = new Set();
    mayMiss = false;
    askedAt = clock.monotonic();
    const selects = PARTS.map(
      (part, nth) => `(
        select ${nth} as part, period as at from ${database.eventsByDue}
        where state = 'queued' and destination = ${destination} and ${isInPart(part)} and period <= ${periodIn(NOW)}
        order by period limit ${SEEN_AT_ONCE})`,
    );
    const rows = await database.rows<PeriodRow>(
      `${selects.join(" union all ")} union all (select null as part, ${NOW} as at)`,
    );
    const found = new Map(PARTS.map((part) => [keyOf(part), [] as number[]]));
    for (const { part, at } of rows) {
      if (part === null) lookedAt = Number(at);
      else found.get(keyOf(PARTS[Number(part)] as IndexPart))?.push(Number(at));
    }
    seen = { destination, periods: found };
    const now = clock.monotonic();
    const restMs = (now - askedAt) / SHARE_OF_TIME;
    nextAt = now + Math.min(Math.max(restMs, AT_MOST_EVERY_MS), AT_LEAST_EVERY_MS);
  }

  /** From the last look until now. */
  function latest(): number[] {
    const from = periodOf(lookedAt - SLACK_MS);
    const to = periodOf(lookedAt + clock.monotonic() - askedAt + SLACK_MS);
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
    /** Looks again if due. Resolves to each part's condition, for a search that begins at once. */
    async of(destination: number): Promise<(part: IndexPart) => string> {
      if (seen?.destination !== destination || mayMiss || clock.monotonic() >= nextAt) {
        running ??= look(destination).finally(() => {
          running = undefined;
        });
        await running;
      }
      return seen?.destination === destination ? periodsOf : () => `period <= ${periodIn(NOW)}`;
    },
    /** An event may wait that became due at this time. */
    include(dueAt: number): void {
      extra.add(periodOf(dueAt));
      if (extra.size > EXTRA_AT_MOST) mayMiss = true;
    },
    /** Events may wait that became due at any time: the next search looks first. */
    includeAll(): void {
      mayMiss = true;
    },
  };
}
