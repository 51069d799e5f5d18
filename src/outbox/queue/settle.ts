import type { Verdict } from "../claim.js";
import type { Database, Statements } from "./database.js";
import type { QueueClaim, UnderWay } from "./leases.js";
import type { createQueues, QueueRow } from "./queues.js";
import { CLAIMED, RESTING, rankOf } from "./ranks.js";
import { asciiJson, DEAD, forgotten, marks, QUEUED } from "./rows.js";

export type Settlement = readonly [claim: QueueClaim, verdict: Verdict];

/**
 * What a verdict has done. `lost`: another claim has the event, or the verdict was acted on
 * before, and the answer was lost.
 */
export type Effect = "done" | "lost" | "none";

/** The row of an event that this process no longer has claimed. */
interface Lost {
  readonly seq: number;
  readonly visitor: string;
  readonly state: number;
  readonly reason: string | null;
  readonly death: string | null;
}

/** Acts on verdicts. */
export function createSettle(
  { words }: Pick<Database, "words">,
  {
    worker,
    rememberMs,
    queues: visitors,
    underWay,
  }: { worker: string; rememberMs: number; queues: ReturnType<typeof createQueues>; underWay: UnderWay },
) {
  const { events, queues, now } = words;

  /** @param reason SQL. */
  async function markDone(tx: Statements, seqs: readonly number[], reason: string): Promise<void> {
    if (seqs.length === 0) return;
    await tx.write(
      `update ${events} set ${forgotten(reason, now, rememberMs)} where seq in (${marks(seqs)})`,
      seqs,
    );
  }

  async function bury(tx: Statements, seq: number, death: Verdict & { type: "dead" }): Promise<void> {
    const json = deathOf(death);
    await tx.write(
      `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = ?, death = ?, size = size + ?, interrupted = 0
       where seq = ?`,
      [death.reason, json, json.length, seq],
    );
  }

  /** The same event stays its visitor's head. */
  async function keep(
    tx: Statements,
    { seq, visitor, endpoint, dueAt, history }: QueueClaim,
    verdict: Verdict & { type: "retry" | "release" },
    { urgency }: QueueRow,
  ): Promise<void> {
    const isRetry = verdict.type === "retry";
    if (isRetry) {
      await tx.write(`update ${events} set interrupted = 0, history = ? where seq = ?`, [
        asciiJson(verdict.history),
        seq,
      ]);
    }
    const wasTried = (isRetry ? verdict.history : history).triedAt > 0;
    const turn = isRetry && verdict.inMs > 0 ? RESTING : rankOf(urgency, wasTried, endpoint);
    // What is released has been ready since as long as it was.
    await tx.write(
      `update ${queues} set turn = ?, due_at = ${isRetry ? `${now} + ?` : "?"}, tried = ?, claimed_by = null where visitor = ?`,
      [turn, isRetry ? Math.round(verdict.inMs) : dueAt, Number(wasTried), visitor],
    );
  }

  /** Rows of these events, locked, and the queues that they are in by now. */
  async function findLost(tx: Statements, lost: readonly Settlement[], locked: Map<string, QueueRow>) {
    if (lost.length === 0) return [];
    const seqs = lost.map(([{ seq }]) => seq);
    const found = await tx.rows<Lost>(
      `select seq, visitor, state, reason, death from ${events}${words.byVisitor}
       where seq in (${marks(seqs)}) order by seq${words.forUpdate}`,
      seqs,
    );
    // One that was retried meanwhile may be in another queue.
    const others = found.filter(({ visitor }) => visitor && !locked.has(visitor));
    for (const each of await visitors.lock(tx, others)) locked.set(...each);
    return found;
  }

  return async function settle(tx: Statements, settled: readonly Settlement[]): Promise<Effect[]> {
    const locked = await visitors.lock(
      tx,
      settled.map(([claim]) => claim),
    );
    const isOwn = (claim: QueueClaim) => {
      const { visitor, seq } = claim;
      const queue = locked.get(visitor);
      // This process, too, may have claimed it again since.
      if ((underWay.get(seq) ?? claim) !== claim) return false;
      return queue?.turn === CLAIMED && queue.claimed_by === worker && queue.head === seq;
    };
    const owned = new Set(settled.filter(([claim]) => isOwn(claim)));
    const rows = await findLost(
      tx,
      settled.filter((each) => !owned.has(each)),
      locked,
    );
    const [delivered, skipped]: [number[], number[]] = [[], []];
    const left = new Map<string, QueueRow>();
    const leave = (visitor: string) => {
      const queue = locked.get(visitor);
      if (queue) left.set(visitor, queue);
    };
    const effects: Effect[] = [];
    for (const each of settled) {
      const [claim, verdict] = each;
      const { seq } = claim;
      const isTheOwn = owned.has(each);
      const row = rows.find((lost) => lost.seq === seq);
      if (verdict.type === "delivered") {
        // It counts, whoever has the event.
        const isOpen = row?.state === QUEUED || (row?.state === DEAD && row.reason === "unconfirmed");
        if (isTheOwn || isOpen) {
          (verdict.isSkipped ? skipped : delivered).push(seq);
          leave(row?.visitor ?? claim.visitor);
        }
      } else if (isTheOwn && verdict.type === "dead") {
        await bury(tx, seq, verdict);
        leave(claim.visitor);
      } else if (isTheOwn && (verdict.type === "retry" || verdict.type === "release")) {
        await keep(tx, claim, verdict, locked.get(claim.visitor) as QueueRow);
      }
      const isOther = verdict.type === "dead" && !(row?.state === DEAD && row.death === deathOf(verdict));
      effects.push(isTheOwn ? "done" : isOther ? "none" : "lost");
    }
    await markDone(tx, delivered, "null");
    await markDone(tx, skipped, "'skipped'");
    await visitors.refresh(tx, left);
    return effects;
  };
}

function deathOf({ type: _, ...death }: Verdict & { type: "dead" }): string {
  return asciiJson(death);
}
