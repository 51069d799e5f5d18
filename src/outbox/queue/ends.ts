import type { OutboxEvent } from "../../conversion/events.js";
import { LEAST_URGENT_FIRST, priorityOf, rowOf } from "../../conversion/kinds.js";
import type { Death } from "../dead-letters.js";
import type { Database, Statements } from "./database.js";
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
