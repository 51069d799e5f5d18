import { objectFromJson } from "../../shared/json.js";
import { HELD } from "../dead-letters.js";
import { type History, UNTRIED } from "../outbox.js";
import type { DeadLetters } from "./dead-letters.js";
import type { LiveEvents } from "./live-events.js";
import type { Removals } from "./removals.js";
import { rankOf } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  waiting: "select seq from events where destination = ? and urgency = ? and kind = 'payment' order by seq",
} as const;

/** Makes an unconfirmed dead letter of each payment that waits, claimed or not. Returns their number. */
export function createHold(
  db: Database,
  parts: { totals: Totals; removals: Removals; live: LiveEvents; dead: DeadLetters },
): (now: number) => number {
  const { totals, removals, live, dead } = parts;
  const { waiting } = prepareAll(db, STATEMENTS);

  return (now) => {
    // Delivered payments do not wait.
    removals.run();
    const found = totals.destinations.flatMap((each) => waiting.all(each, rankOf("payment")));
    for (const { seq } of found) {
      const row = live.takeOut(seq, now);
      const { attempts } = {
        ...UNTRIED,
        ...(objectFromJson(row.history ?? "{}") as Partial<History> | undefined),
      };
      dead.keep(row, { ...HELD, attempts }, now);
    }
    return found.length;
  };
}
