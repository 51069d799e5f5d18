import { type Counts, changeOf } from "./counts.js";
import type { Database, Statements } from "./database.js";
import type { createQueues } from "./queues.js";
import { asciiJson, DEAD, type EventRow, eventOf, marks, seqsOf } from "./rows.js";

export type Burial = ReturnType<typeof createBurial>;

/** Makes events whose rows cannot be read dead letters, which can only be discarded. */
export function createBurial(
  database: Database,
  options: {
    queues: ReturnType<typeof createQueues>;
    counts: Counts;
    /** An event has become a dead letter of so many bytes. */
    onDeath: (bytes: number) => unknown;
  },
) {
  const { queues: visitors, counts, onDeath } = options;
  const { events, now } = database.words;
  const death = asciiJson({ reason: "rejected", code: "ERR_UNREADABLE", attempts: 0 });

  /** For events in no queue, or in a locked one. */
  async function bury(tx: Statements, rows: readonly EventRow[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.write(
      `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = 'rejected', death = ?, history = null
       where seq in (${marks(rows)})`,
      [death, ...seqsOf(rows)],
    );
  }

  /** Counts what was buried. */
  function count(rows: readonly EventRow[]): void {
    for (const row of rows) {
      const bytes = row.data.length;
      counts.add(changeOf(eventOf(row, {}), "rejected", 1, { bytes }));
      onDeath(bytes);
    }
  }

  return {
    bury,
    count,
    /** For claimed events: locks their queues. */
    async buryHeads(rows: readonly EventRow[]): Promise<void> {
      if (rows.length === 0) return;
      await database.transaction(async (tx) => {
        const locked = await visitors.lock(tx, rows);
        await bury(tx, rows);
        await visitors.refresh(tx, locked);
      });
      for (const row of rows)
        counts.add(changeOf(eventOf(row, {}), "queued", -1, { bytes: -row.data.length }));
      count(rows);
    },
  };
}
