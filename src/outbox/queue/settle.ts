import { LEAST_URGENT_FIRST, priorityOf, rowOf } from "../../conversion/kinds.js";
import type { Death } from "../dead-letters.js";
import type { Verdict } from "../outbox.js";
import type { Database, Statements } from "./database.js";
import type { Settled, Settlement, UnderWay } from "./leases.js";
import type { createQueues, QueueRow } from "./queues.js";
import { RESTING, rankOf } from "./ranks.js";
import { asciiJson, DEAD, DONE, type EventRow, forLength, marks, QUEUED, seqsOf } from "./rows.js";

export type Ends = ReturnType<typeof createEnds>;

/** How an event ended, or the verdict that says so. Without `attempts`, its history has them. */
type AnyDeath = Omit<Death, "attempts"> & { readonly type?: "dead"; readonly attempts?: number };

/** What the column `death` has. */
export function deathOf({ type: _, ...death }: AnyDeath): string {
  return asciiJson(death);
}

/** What the column `size` has for a dead letter, by what it had for the event. */
export const deathSizeOf = (size: number, death: AnyDeath): number => size + deathOf(death).length;

/** A row that an event leaves. Its number may be another's since, if the row was deleted by hand. */
type Ended = Pick<EventRow, "seq" | "id">;

const areThese = (rows: readonly Ended[]) => `seq in (${marks(rows)}) and id in (${marks(rows)})`;
const valuesOf = (rows: readonly Ended[]) => [...seqsOf(rows), ...rows.map(({ id }) => id)];

/** Gives events up, and forgets them. Their queues are as they were. */
export function createEnds({ words }: Pick<Database, "words">, rememberMs: number) {
  const { events, now } = words;
  const lasts = LEAST_URGENT_FIRST.map(
    (kind) => `when ${priorityOf(kind)} then ${Math.min(rowOf(kind).remembered.ms, rememberMs)}`,
  ).join(" ");
  /** By the reason. */
  const forgetting: Record<string, (rows: readonly Ended[]) => string> = {};

  return {
    /** Makes dead letters of queued events. */
    bury(tx: Statements, rows: readonly Ended[], death: AnyDeath): Promise<unknown> {
      const json = deathOf(death);
      return tx.write(
        `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = ?, death = ?, size = size + ?
         where ${areThese(rows)} and state = ${QUEUED}`,
        [death.reason, json, json.length, ...valuesOf(rows)],
      );
    },
    /**
     * Empties rows. Their ids alone are kept, for as long as ids of their kind are. The hosts' clocks
     * count, too: one that is set back forgets nothing early.
     *
     * @param reason SQL: why each is `DONE`; `null`: it was delivered. It sees the row as it was.
     * @returns to how many rows.
     */
    async forget(tx: Statements, rows: readonly Ended[], reason: string): Promise<number> {
      if (rows.length === 0) return 0;
      forgetting[reason] ??= forLength(
        (list) => `update ${events} set reason = ${reason}, state = ${DONE},
           at_ms = case when created_at > ${now} then created_at else ${now} end + case kind ${lasts} end,
           visitor = '', alias = null, alias_2 = null, data = '', size = 0, amount = null, history = null, death = null
         where ${areThese(list)} and state <= ${DEAD}`,
      );
      return tx.write(forgetting[reason](rows), valuesOf(rows));
    },
  };
}

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
  const { worker, ends, queues, underWay } = options;
  const { events, queues: table, now } = words;

  /** The same event stays its visitor's head. */
  async function keep(
    tx: Statements,
    { seq, visitor, endpoint, dueAt, history, event }: Settled,
    verdict: Verdict & { type: "retry" | "release" },
    { urgency }: QueueRow,
  ): Promise<void> {
    const isRetry = verdict.type === "retry";
    if (isRetry) {
      const values = [asciiJson(verdict.history), seq, event.id];
      await tx.write(`update ${events} set interrupted = 0, history = ? where seq = ? and id = ?`, values);
    }
    const wasTried = (isRetry ? verdict.history : history).triedAt > 0;
    const turn = isRetry && verdict.inMs > 0 ? RESTING : rankOf(urgency, wasTried, endpoint);
    // What is released has been ready since as long as it was.
    await tx.write(
      `update ${table} set turn = ?, due_at = ${isRetry ? `${now} + ?` : "?"}, tried = ?, claimed_by = null where visitor = ?`,
      [turn, isRetry ? Math.round(verdict.inMs) : dueAt, Number(wasTried), visitor],
    );
  }

  return async function settle(tx: Statements, settled: readonly Settlement[]): Promise<Effect[]> {
    const claims = settled.map(([claim]) => claim);
    const locked = await queues.lock(tx, claims);
    const isOwned = (claim: Settled) => {
      const queue = locked.get(claim.visitor);
      // This process, too, may have claimed it again since.
      if ((underWay.get(claim.seq) ?? claim) !== claim) return false;
      return queue?.claimed_by === worker && queue.head === claim.seq;
    };
    const owned = new Set(claims.filter(isOwned));
    const lost = claims.filter((claim) => !owned.has(claim));
    const rows = await queues.lockEvents(tx, seqsOf(lost));
    // One that was retried meanwhile may be in another queue.
    const moved = rows.filter(({ visitor }) => visitor && !locked.has(visitor));
    for (const [visitor, queue] of await queues.lock(tx, moved)) locked.set(visitor, queue);
    const [delivered, skipped, dead]: [Ended[], Ended[], Ended[]] = [[], [], []];
    const left = new Set<string>();
    const effects: Effect[] = [];
    for (const [claim, verdict] of settled) {
      const { seq, event } = claim;
      const isOwn = owned.has(claim);
      // In another file, or if its row was deleted, its number may be another event's.
      const row = rows.find((row) => row.seq === seq && row.id === event.id);
      if (verdict.type === "delivered") {
        // A delivery counts even if another process has the event by now.
        const isOpen = row?.state === QUEUED || (row?.state === DEAD && row.reason === "unconfirmed");
        if (isOwn || isOpen) {
          (verdict.isSkipped ? skipped : delivered).push({ seq, id: event.id });
          left.add(row?.visitor ?? claim.visitor);
        }
      } else if (isOwn && verdict.type === "dead") {
        dead.push({ seq, id: event.id });
        await ends.bury(tx, dead.slice(-1), verdict);
        left.add(claim.visitor);
      } else if (isOwn && (verdict.type === "retry" || verdict.type === "release")) {
        await keep(tx, claim, verdict, locked.get(claim.visitor) as QueueRow);
      }
      const isVoid = verdict.type === "dead" && !(row?.state === DEAD && row.death === deathOf(verdict));
      effects.push(isOwn ? "done" : isVoid ? "none" : "lost");
    }
    await ends.forget(tx, delivered, "null");
    await ends.forget(tx, skipped, "'skipped'");
    await queues.refresh(tx, locked, left, new Set(seqsOf([...delivered, ...skipped, ...dead])));
    return effects;
  };
}
