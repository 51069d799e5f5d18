import { priorityOf, rowOf } from "../../conversion/kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Circuit, Circuits } from "../circuits.js";
import type { Database } from "./database.js";
import { DEAD, DONE, inState } from "./rows.js";

// An outage is looked at again after an hour at most.
const LATELY_MS = 24 * 3_600_000;
const LETTERS = 50;
const FIRST_REST_MS = 45_000;
const LONGEST_REST_MS = 3_600_000;
// A process was killed, or a person held them: that says nothing about the endpoint.
const OF_THE_ENDPOINT = `death not like '%"ERR_INTERRUPTED"%' and death not like '%"ERR_HELD"%'`;

/**
 * What all processes know of endpoints that leave events without an answer, derived from the rows:
 * those held as unconfirmed since the last one that was delivered. What this process knows besides,
 * of attempts that still wait, is its own.
 */
export function createCircuits(database: Database, rememberMs: number): Circuits {
  const { events, now } = database.words;
  const own = new Map<string, Circuit>();

  /** When the endpoint last took an event, by the database's clock; 0: not after this time. */
  async function lastDelivered(destination: number, endpoint: number, after: number): Promise<number> {
    const kind = kindOf(ENDPOINTS[endpoint] as Endpoint);
    const rememberedMs = Math.min(rowOf(kind).remembered.ms, rememberMs);
    // Not in the future: a host's clock is ahead.
    const [row] = await database.rows<{ at_ms: number }>(
      `select at_ms from ${events} where ${inState(DONE)} and destination = ? and kind = ? and endpoint = ?
         and reason is null and at_ms > ? and at_ms <= ${now} + ${rememberedMs} order by at_ms desc limit 1`,
      [destination, priorityOf(kind), endpoint, after + rememberedMs],
    );
    return row ? Number(row.at_ms) - rememberedMs : 0;
  }

  return {
    async read(destination) {
      const [time] = await database.rows<{ now: number }>(`select ${now} as now`);
      const letters = await database.rows<Record<"endpoint" | "at_ms", number>>(
        `select endpoint, at_ms from ${events}
         where ${inState(DEAD)} and destination = ? and at_ms > ${now} - ${LATELY_MS} and reason = 'unconfirmed'
           and ${OF_THE_ENDPOINT} order by at_ms desc limit ${LETTERS}`,
        [destination],
      );
      const circuits: Partial<Record<Endpoint, Circuit>> = {};
      for (const [number, endpoint] of ENDPOINTS.entries()) {
        const held = letters.flatMap((letter) =>
          Number(letter.endpoint) === number ? [Number(letter.at_ms)] : [],
        );
        const mine = own.get(`${destination} ${endpoint}`);
        if (held.length === 0 && !mine) continue;
        const oldest = Math.min(...held, mine?.since ?? Number.POSITIVE_INFINITY);
        const passedAt = await lastDelivered(destination, number, oldest);
        const since = held.filter((at) => at > passedAt);
        const shared = since.length > 0 ? circuitOf(since) : undefined;
        const waiting = mine && mine.since > passedAt ? mine : undefined;
        const known = shared && waiting ? merged(shared, waiting) : (shared ?? waiting);
        if (known) circuits[endpoint] = known;
      }
      return { now: Number(time?.now), circuits };
    },
    async replace({ destination, endpoint, next }) {
      const name = `${destination} ${endpoint}`;
      if (next) own.set(name, next);
      else own.delete(name);
      return true;
    },
  };
}

function circuitOf(heldAt: readonly number[]): Circuit {
  const [since, last] = [Math.min(...heldAt), Math.max(...heldAt)];
  const restMs = Math.min(Math.max(3.5 * (last - since), FIRST_REST_MS), LONGEST_REST_MS);
  return { since, attempts: heldAt.length, failed: true, probeAt: last + restMs, hurriedAt: 0 };
}

function merged(shared: Circuit, own: Circuit): Circuit {
  return {
    since: Math.min(shared.since, own.since),
    attempts: Math.max(shared.attempts, own.attempts),
    failed: true,
    probeAt: Math.max(shared.probeAt, own.probeAt),
    hurriedAt: own.hurriedAt,
  };
}
