import { LEAST_URGENT_FIRST, priorityOf } from "../../../conversion/kinds.js";
import { CANCELLED, DONE, inState } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";

// Of `maxBytes`. Events take less than that, unless ids of settled ones take the rest.
const FULL = 0.85;
const PAGE_BYTES = 4_096;
// What ids keep of `maxBytes`, if events take all that they may. Measured: an id and its entries.
const SHARE_OF_IDS = 0.15;
const ID_BYTES = 360;
const LEAST_KEPT = 1_000;

/** Bounds the ids of settled events: each is kept for as long as there is space. */
export function createKnownIds(database: SqliteDatabase, maxBytes: number) {
  const { events } = database.words;
  const kept = Math.max(LEAST_KEPT, Math.floor((maxBytes * SHARE_OF_IDS) / ID_BYTES));
  const areSettled = `(${inState(DONE)} or ${inState(CANCELLED)})`;

  async function numberOf(text: string): Promise<number> {
    const [row] = await database.rows<Record<string, number>>(text);
    return Object.values(row ?? {})[0] ?? 0;
  }

  return {
    /** Forgets the oldest if the file is nearly full: those of clicks first, of payments last. */
    async forgetExcess(): Promise<void> {
      const pages = (await numberOf("pragma page_count")) - (await numberOf("pragma freelist_count"));
      if (pages * PAGE_BYTES <= FULL * maxBytes) return;
      let excess = (await numberOf(`select count(*) as number from ${events} where ${areSettled}`)) - kept;
      for (const kind of LEAST_URGENT_FIRST) {
        if (excess <= 0) return;
        excess -= await database.write(
          `delete from ${events} where seq in (
             select seq from ${events} where ${areSettled} and kind = ? order by at_ms, seq limit ?)`,
          [priorityOf(kind), excess],
        );
      }
    },
  };
}
