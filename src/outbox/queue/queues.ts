import type { Database, Statements } from "./database.js";
import { rankOf } from "./ranks.js";
import { type EventRow, forLength, historyOf, marks, PRIORITIES, QUEUED } from "./rows.js";

/** A locked row of `queues`. */
export interface QueueRow {
  readonly visitor: string;
  readonly head: number;
  readonly urgency: number;
  readonly endpoint: number;
  /** 0 if no further event has ever joined the head. */
  readonly has_more: number;
  /** `null` if the head is not claimed. */
  readonly claimed_by: string | null;
}

type Next = Pick<EventRow, "seq" | "visitor" | "state" | "endpoint" | "history">;

/** Locks rows of `queues`, and finds their next heads once events have left. */
export function createQueues({ words }: Pick<Database, "words">) {
  const { events, queues, now } = words;

  const firstOf = (kind: number) =>
    `(select e.seq from ${events} e${words.byVisitorAndKind} where e.visitor = q.visitor and e.state = ${QUEUED}
        and e.kind = ${kind} order by e.place, e.seq limit 1) as first_${kind}`;
  const firsts = `select q.visitor, ${PRIORITIES.map(firstOf).join(", ")} from ${queues} q${words.byVisitor}`;

  const lock = forLength(
    (visitors) => `select visitor, head, urgency, endpoint, has_more, claimed_by
      from ${queues}${words.byVisitor} where visitor in (${marks(visitors)}) order by visitor${words.forUpdate}`,
  );
  const remove = forLength((visitors) => `delete from ${queues} where visitor in (${marks(visitors)})`);

  return {
    /** Locks these rows' queues until the transaction ends, in one order, so that no two deadlock. */
    async lock(tx: Statements, rows: readonly Pick<QueueRow, "visitor">[]): Promise<Map<string, QueueRow>> {
      const sorted = [...new Set(rows.map(({ visitor }) => visitor))].sort();
      if (sorted.length === 0) return new Map();
      const locked = await tx.rows<QueueRow>(lock(sorted), sorted);
      return new Map(locked.map((row) => [row.visitor, row]));
    },
    /**
     * Locks these events, and waits for no host's transaction: by any index but that of `seq`, MySQL
     * could.
     */
    async lockEvents(tx: Statements, seqs: readonly number[]): Promise<EventRow[]> {
      if (seqs.length === 0) return [];
      return tx.rows<EventRow>(
        `select e.* from ${events} e${words.byVisitor} where e.seq in (${marks(seqs)})
         order by e.seq${words.forUpdate}`,
        seqs,
      );
    },
    /**
     * Events of these visitors have left these locked queues: removes the empty ones, and finds the
     * next heads.
     *
     * @param gone events that have left: the queue of one that was alone is empty without a look.
     */
    async refresh(
      tx: Statements,
      locked: ReadonlyMap<string, QueueRow>,
      changed: Iterable<string> = locked.keys(),
      gone: ReadonlySet<number> = new Set(),
    ): Promise<void> {
      const visitors: string[] = [];
      const empty: string[] = [];
      for (const visitor of changed) {
        const queue = locked.get(visitor);
        if (queue) (queue.has_more === 0 && gone.has(queue.head) ? empty : visitors).push(visitor);
      }
      type First = Record<string, number | null> & { readonly visitor: string };
      const text = `${firsts} where q.visitor in (${marks(visitors)})`;
      const rows = visitors.length > 0 ? await tx.rows<First>(text, visitors) : [];
      const seqs = visitors.map((visitor) => locked.get(visitor)?.head as number);
      const urgencies = new Map<string, number>();
      for (const row of rows) {
        const present = PRIORITIES.filter((kind) => row[`first_${kind}`] !== null);
        if (present.length === 0) empty.push(row.visitor);
        else urgencies.set(row.visitor, Math.max(...present));
        for (const kind of present) seqs.push(row[`first_${kind}`] as number);
      }
      // A statement of its own: otherwise MySQL locks the events that it looks at.
      if (empty.length > 0) {
        await tx.write(remove(empty), empty);
      }
      if (urgencies.size === 0) return;
      const found = await tx.rows<Next>(
        `select seq, visitor, state, endpoint, history from ${events} where seq in (${marks(seqs)})
         order by place, seq`,
        seqs,
      );
      for (const [visitor, urgency] of urgencies) {
        const queue = found.filter((row) => row.visitor === visitor && row.state === QUEUED);
        const [next] = queue;
        // A head that is there stays, even if an event before it came later. So does its urgency.
        if (!next || queue.some(({ seq }) => seq === locked.get(visitor)?.head)) continue;
        const { seq, endpoint } = next;
        // It may be unreadable, until it is claimed.
        const wasTried = (historyOf(next)?.triedAt ?? 0) > 0;
        await tx.write(
          `update ${queues} set head = ?, urgency = ?, endpoint = ?, tried = ?, turn = ?, due_at = ${now}, claimed_by = null
           where visitor = ?`,
          [seq, urgency, endpoint, Number(wasTried), rankOf(urgency, wasTried, endpoint), visitor],
        );
      }
    },
  };
}
