import type { Database } from "./database.js";
import type { createQueues } from "./queues.js";
import { asciiJson, DEAD, type EventRow, marks, seqsOf } from "./rows.js";

/** False if its texts are no JSON. */
export function isReadable({ data, history }: EventRow): boolean {
  // Not parsed, as most are readable: that would be done twice for each event.
  const hasBothEnds = (text: string) => text.startsWith("{") && text.endsWith("}");
  return hasBothEnds(data) && (history === null || hasBothEnds(history));
}

/** Returns a function that makes claimed events dead letters, which can only be discarded. */
export function createBurial(
  database: Database,
  { queues: visitors }: { queues: ReturnType<typeof createQueues> },
) {
  const { events, now } = database.words;
  const death = asciiJson({ reason: "rejected", code: "ERR_UNREADABLE", attempts: 0 });

  return async function buryUnreadable(rows: readonly EventRow[]): Promise<void> {
    if (rows.length === 0) return;
    await database.transaction(async (tx) => {
      const locked = await visitors.lock(
        tx,
        rows.map(({ visitor }) => visitor),
      );
      await tx.write(
        `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = 'rejected', death = ?, history = null
         where seq in (${marks(rows)})`,
        [death, ...seqsOf(rows)],
      );
      await visitors.refresh(tx, locked);
    });
  };
}
