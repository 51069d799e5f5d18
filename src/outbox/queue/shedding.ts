import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { Database, Scope, Statements, Value } from "./database.js";
import { createPlaces } from "./places.js";
import type { createQueues, QueueRow } from "./queues.js";
import { CLAIMED, endpointNumber, RESTING, ranksOf } from "./ranks.js";
import { type EventRow, eventOf, marks, QUEUED, seqsOf } from "./rows.js";

// So many more are read: another process may claim or remove the first ones meanwhile.
const MORE = 8;
const MOST_CLICKS = 1_000;
const CLICK = priorityOf("click");
const CLICKS = endpointNumber("click");

export type ShedClicks = ReturnType<typeof createShedding>["shedClicks"];

/** Removes events that are not under way, and forgets their ids. */
export function createShedding(
  database: Database,
  options: { scope: Scope; queues: ReturnType<typeof createQueues> },
) {
  const { scope, queues } = options;
  const { words } = database;
  const { events, queues: table } = words;

  const placesOf = createPlaces(database);

  /** Of these locked queues. */
  async function remove(
    tx: Statements,
    locked: ReadonlyMap<string, QueueRow>,
    where: string,
    values: readonly Value[],
  ): Promise<OutboxEvent[]> {
    const rows = await tx.rows<EventRow>(
      `select e.* from ${events} e${words.byVisitorAndKind}
       where e.visitor in (${marks([...locked])}) and e.state = ${QUEUED} and ${where}`,
      [...locked.keys(), ...values],
    );
    if (rows.length === 0) return [];
    await tx.write(`delete from ${events} where seq in (${marks(rows)})`, seqsOf(rows));
    await queues.refresh(tx, locked, new Set(rows.map(({ visitor }) => visitor)));
    return rows.map((row) => eventOf(row));
  }

  return {
    /**
     * Removes at most `most` events of this urgency, the oldest first, but none of the new events'
     * own visitors.
     *
     * @param of whose. Default: those of the outbox.
     */
    async shedFor(
      coming: readonly OutboxEvent[],
      urgency: EventKind,
      most: number,
      of = scope,
    ): Promise<OutboxEvent[]> {
      const spared = (await placesOf(database, coming)).map(({ visitor }) => visitor);
      const priority = priorityOf(urgency);
      const selects = [...ranksOf(priority), RESTING, CLAIMED].map(
        (turn) =>
          `select * from (select visitor from ${table} where ${of.condition} and turn = ${turn} and urgency = ${priority}
             and visitor not in (${marks(spared)}) order by due_at, head limit ${most + MORE}) as p${turn}`,
      );
      // All of them: the oldest may be under way.
      const found = await database.rows<{ visitor: string }>(
        selects.join(" union all "),
        selects.flatMap(() => spared),
      );
      return database.transaction(async (tx) => {
        const locked = await queues.lock(tx, found);
        for (const [visitor, row] of locked) if (row.urgency !== priority) locked.delete(visitor);
        if (locked.size === 0) return [];
        const underWay = [...locked.values()].map(({ claimed_by: worker, head }) => (worker ? head : 0));
        // `+ 0`: otherwise PostgreSQL may look for them among all settled events, in the order of `seq`.
        const oldest = `e.seq not in (${marks(underWay)}) order by e.seq + 0 limit ${most}`;
        return remove(tx, locked, oldest, underWay);
      });
    },
    /** Removes visitors' oldest clicks that are not under way, until each has no more than may wait. */
    async shedClicks(tx: Statements, crowded: readonly { readonly visitor: string }[]) {
      const shed: OutboxEvent[] = [];
      for (const queue of await queues.lock(tx, crowded)) {
        const [, { claimed_by: worker, head, endpoint }] = queue;
        const underWay = worker ? head : 0;
        const kept = CLICKS_OF_A_VISITOR - Number(underWay > 0 && endpoint === CLICKS);
        const where = `e.kind = ${CLICK} and e.seq <> ?
          order by e.place desc, e.seq desc limit ${MOST_CLICKS} offset ${kept}`;
        shed.push(...(await remove(tx, new Map([queue]), where, [underWay])).reverse());
      }
      return shed;
    },
  };
}
