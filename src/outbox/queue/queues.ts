import { LEAST_URGENT_FIRST, priorityOf } from "../../conversion/kinds.js";
import type { Database, Statements } from "./database.js";
import { rankOf } from "./ranks.js";
import { historyOf, marks, QUEUED } from "./rows.js";

/** A locked row of `queues`. */
export interface QueueRow {
  readonly visitor: string;
  readonly head: number;
  readonly urgency: number;
  readonly endpoint: number;
  readonly turn: number;
  readonly claimed_by: string | null;
}

const PRIORITIES = LEAST_URGENT_FIRST.map(priorityOf);

/** The visitors' queues, after their first events. */
export function createQueues({ words }: Pick<Database, "words">) {
  const { events, queues, now } = words;

  const firstOf = (kind: number) =>
    `(select min(e.seq) from ${events} e${words.byVisitorAndKind}
      where e.visitor = q.visitor and e.state = ${QUEUED} and e.kind = ${kind}) as first_${kind}`;

  return {
    /** Locks queues until the transaction ends, in one order, so that no two deadlock. */
    async lock(tx: Statements, visitors: Iterable<string>): Promise<Map<string, QueueRow>> {
      const sorted = [...new Set(visitors)].sort();
      if (sorted.length === 0) return new Map();
      const rows = await tx.rows<QueueRow>(
        `select visitor, head, urgency, endpoint, turn, claimed_by from ${queues}${words.byVisitor}
         where visitor in (${marks(sorted)}) order by visitor${words.forUpdate}`,
        sorted,
      );
      const numbers = (row: QueueRow) => ({
        head: Number(row.head),
        urgency: Number(row.urgency),
        endpoint: Number(row.endpoint),
        turn: Number(row.turn),
      });
      return new Map(rows.map((row) => [row.visitor, { ...row, ...numbers(row) }]));
    },
    /** Events have left these locked queues: removes the empty ones, and finds the next heads. */
    async refresh(tx: Statements, locked: ReadonlyMap<string, QueueRow>): Promise<void> {
      const visitors = [...locked.keys()];
      if (visitors.length === 0) return;
      const rows = await tx.rows(
        `select q.visitor, ${PRIORITIES.map(firstOf).join(", ")} from ${queues} q${words.byVisitor}
         where q.visitor in (${marks(visitors)})`,
        visitors,
      );
      const empty: string[] = [];
      /** The urgency of the queue behind each head. */
      const heads = new Map<number, number>();
      for (const row of rows) {
        const present = PRIORITIES.filter((kind) => row[`first_${kind}`] !== null);
        if (present.length === 0) empty.push(row.visitor);
        else
          heads.set(Math.min(...present.map((kind) => Number(row[`first_${kind}`]))), Math.max(...present));
      }
      // A statement of its own: otherwise MySQL locks the events that it looks at.
      if (empty.length > 0) {
        await tx.write(`delete from ${queues} where visitor in (${marks(empty)})`, empty);
      }
      if (heads.size === 0) return;
      const next = await tx.rows(
        `select seq, visitor, endpoint, history from ${events} where seq in (${marks([...heads])})`,
        [...heads.keys()],
      );
      for (const row of next) {
        const seq = Number(row.seq);
        // It rests or is under way, and the queue stays as urgent as it was.
        if (locked.get(row.visitor)?.head === seq) continue;
        const urgency = heads.get(seq) as number;
        const wasTried = historyOf(row).triedAt > 0;
        await tx.write(
          `update ${queues} set head = ?, urgency = ?, endpoint = ?, tried = ?, turn = ?, due_at = ${now}, claimed_by = null
           where visitor = ?`,
          [
            seq,
            urgency,
            Number(row.endpoint),
            Number(wasTried),
            rankOf(urgency, wasTried, Number(row.endpoint)),
            row.visitor,
          ],
        );
      }
    },
  };
}
