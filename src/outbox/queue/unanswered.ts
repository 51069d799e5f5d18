import { priorityOf, rowOf } from "../../conversion/kinds.js";
import { type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Database, Scope } from "./database.js";
import { CLAIMED, endpointNumber } from "./ranks.js";
import { DEAD, DONE, inState } from "./rows.js";

// Chosen: many times the longest rest between two probes, an hour.
const LATELY_MS = 24 * 3_600_000;
const LETTERS = 50;
// A process was killed, or a person held them: that says nothing about the endpoint.
const OF_THE_ENDPOINT = `death not like '%"ERR_INTERRUPTED"%' and death not like '%"ERR_HELD"%'`;

type Row = Record<"seq" | "at_ms" | "now", number> & Record<"visitor" | "alias" | "alias_2", string | null>;

const namesIn = ({ visitor, alias, alias_2 }: Row) =>
  [visitor, alias, alias_2].filter((name) => name !== null);

/** See `Outbox.unanswered`: derived from the rows of dead letters, claims and delivered events. */
export function createUnanswered(
  database: Database,
  { worker, scope, rememberMs }: { worker: string; scope: Scope; rememberMs: number },
) {
  const { events, queues, now } = database.words;

  return async (endpoint: Endpoint) => {
    const kind = kindOf(endpoint);
    const isIts = `${scope.condition} and endpoint = ?`;
    const its = [endpointNumber(endpoint)];
    const rows = await database.rows<Row>(
      `select * from (select seq, at_ms, ${now} as now, visitor, alias, alias_2 from ${events}
         where ${inState(DEAD)} and ${isIts} and at_ms > ${now} - ${LATELY_MS} and at_ms <= ${now}
           and reason = 'unconfirmed' and ${OF_THE_ENDPOINT} order by at_ms desc limit ${LETTERS}) as held
       union all
       select head, 0, ${now}, visitor, null, null from ${queues} where ${isIts} and turn = ${CLAIMED} and claimed_by <> ?`,
      [...its, ...its, worker],
    );
    const held = rows.filter(({ at_ms }) => at_ms > 0);
    const first = Math.min(...held.map(({ at_ms }) => at_ms));
    const lastsMs = Math.min(rowOf(kind).remembered.ms, rememberMs);
    // Not in the future: a host's clock is ahead.
    const text = `select at_ms from ${events} where ${inState(DONE)} and ${isIts} and kind = ?
      and reason is null and at_ms > ? and at_ms <= ${now} + ${lastsMs} order by at_ms desc limit 1`;
    const values = [...its, priorityOf(kind), first + lastsMs];
    const [passed] = held.length > 0 ? await database.rows<{ at_ms: number }>(text, values) : [];
    const passedAt = passed ? passed.at_ms - lastsMs : 0;
    return {
      held: held
        .filter(({ at_ms }) => at_ms > passedAt)
        .map((row) => ({ names: namesIn(row), agoMs: row.now - row.at_ms })),
      underWay: rows
        .filter(({ at_ms }) => at_ms === 0)
        .map((row) => ({ names: namesIn(row), number: row.seq })),
    };
  };
}
