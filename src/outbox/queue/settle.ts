import type { Verdict } from "../claim.js";
import type { Database, Statements } from "./database.js";
import { deathOf, type Ends } from "./ends.js";
import type { QueueClaim, UnderWay } from "./leases.js";
import type { createQueues, QueueRow } from "./queues.js";
import { CLAIMED, RESTING, rankOf } from "./ranks.js";
import { asciiJson, DEAD, QUEUED } from "./rows.js";

export type Settlement = readonly [claim: QueueClaim, verdict: Verdict];

/**
 * What a verdict has done. `lost`: another claim has the event, or the verdict was acted on
 * before, and the answer was lost.
 */
export type Effect = "done" | "lost" | "none";

/** Acts on verdicts. */
export function createSettle(
  { words }: Pick<Database, "words">,
  options: { worker: string; ends: Ends; queues: ReturnType<typeof createQueues>; underWay: UnderWay },
) {
  const { worker, ends, queues: visitors, underWay } = options;
  const { events, queues, now } = words;

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
    const lost = settled.filter((each) => !owned.has(each));
    const rows = await visitors.lockEvents(
      tx,
      lost.map(([{ seq }]) => seq),
    );
    // One that was retried meanwhile may be in another queue.
    const others = rows.filter(({ visitor }) => visitor && !locked.has(visitor));
    for (const each of await visitors.lock(tx, others)) locked.set(...each);
    const [delivered, skipped]: [number[], number[]] = [[], []];
    const left = new Set<string>();
    const effects: Effect[] = [];
    for (const each of settled) {
      const [claim, verdict] = each;
      const { seq } = claim;
      const isTheOwn = owned.has(each);
      const row = rows.find((lost) => lost.seq === seq);
      if (verdict.type === "delivered") {
        // A delivery counts even if another process has the event by now.
        const isOpen = row?.state === QUEUED || (row?.state === DEAD && row.reason === "unconfirmed");
        if (isTheOwn || isOpen) {
          (verdict.isSkipped ? skipped : delivered).push(seq);
          left.add(row?.visitor ?? claim.visitor);
        }
      } else if (isTheOwn && verdict.type === "dead") {
        await ends.bury(tx, [seq], verdict);
        left.add(claim.visitor);
      } else if (isTheOwn && (verdict.type === "retry" || verdict.type === "release")) {
        await keep(tx, claim, verdict, locked.get(claim.visitor) as QueueRow);
      }
      const isOther = verdict.type === "dead" && !(row?.state === DEAD && row.death === deathOf(verdict));
      effects.push(isTheOwn ? "done" : isOther ? "none" : "lost");
    }
    await ends.forget(tx, delivered, "null");
    await ends.forget(tx, skipped, "'skipped'");
    await visitors.refresh(tx, locked, left);
    return effects;
  };
}
