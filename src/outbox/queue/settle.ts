import type { OutboxEvent } from "../../conversion/events.js";
import { LEAST_URGENT_FIRST, priorityOf, rowOf } from "../../conversion/kinds.js";
import type { Death } from "../dead-letters.js";
import type { Verdict } from "../outbox.js";
import type { Database, Statements } from "./database.js";
import type { QueueClaim, UnderWay } from "./leases.js";
import type { createQueues, QueueRow } from "./queues.js";
import { CLAIMED, RESTING, rankOf } from "./ranks.js";
import { asciiJson, DEAD, DONE, marks, QUEUED, sizeOf } from "./rows.js";

export type Ends = ReturnType<typeof createEnds>;

/** How an event ended, or the verdict that says so. */
type AnyDeath = Death & { readonly type?: "dead" };

/** What the column `death` has. */
export function deathOf({ type: _, ...death }: AnyDeath): string {
  return asciiJson(death);
}

/** What the column `size` has for a dead letter. */
export const deathSizeOf = (event: OutboxEvent, death: AnyDeath): number =>
  sizeOf(event) + deathOf(death).length;

/** Gives events up, and forgets them. Their queues are as they were. */
export function createEnds({ words }: Pick<Database, "words">, rememberMs: number) {
  const { events, now } = words;
  const lasts = LEAST_URGENT_FIRST.map(
    (kind) => `when ${priorityOf(kind)} then ${Math.min(rowOf(kind).remembered.ms, rememberMs)}`,
  );

  return {
    /** Makes dead letters of queued events. */
    bury(tx: Statements, seqs: readonly number[], death: AnyDeath): Promise<unknown> {
      const json = deathOf(death);
      return tx.write(
        `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = ?, death = ?, size = size + ?, interrupted = 0
         where seq in (${marks(seqs)}) and state = ${QUEUED}`,
        [death.reason, json, json.length, ...seqs],
      );
    },
    /**
     * Empties rows. Their ids alone are kept, for as long as ids of their kind are. The hosts' clocks
     * count, too: one that is set back forgets nothing early.
     *
     * @param reason SQL: why each is `DONE`; `null`: it was delivered. It sees the row as it was.
     * @returns to how many rows.
     */
    async forget(tx: Statements, seqs: readonly number[], reason: string): Promise<number> {
      if (seqs.length === 0) return 0;
      return tx.write(
        `update ${events} set reason = ${reason}, state = ${DONE},
           at_ms = case when created_at > ${now} then created_at else ${now} end + case kind ${lasts.join(" ")} end,
           visitor = '', alias = null, alias_2 = null, data = '', size = 0, amount = null, history = null, death = null
         where seq in (${marks(seqs)}) and state <= ${DEAD}`,
        seqs,
      );
    },
  };
}

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
      const { seq, event } = claim;
      const isTheOwn = owned.has(each);
      // In a file that has replaced a damaged one, its number may be another event's.
      const row = rows.find((lost) => lost.seq === seq && lost.id === event.id);
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
