import { priorityOf } from "../../kinds.js";
import { objectFromJson } from "../../shared/json.js";
import { HELD } from "../dead-letters.js";
import { type History, UNTRIED, type Verdict } from "../outbox.js";
import type { Appends } from "./appends.js";
import type { Cache } from "./cache.js";
import type { Claims } from "./claims.js";
import type { KnownIds } from "./known-ids.js";
import { type LetterRow, type Letters, sizeOfWords } from "./letters.js";
import type { LiveEvents } from "./live-events.js";
import type { Claimed, Letter, Request } from "./protocol.js";
import { eventFromRow } from "./rows.js";
import type { Scheduled } from "./scheduled.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  waiting: "select seq from events where destination = ? and urgency = ? and kind = 'payment' order by seq",
} as const;

/** What becomes of an event: by the service's verdict, or by an operator's. */
export function createSettlements(
  db: Database,
  parts: {
    cache: Cache;
    ids: KnownIds;
    letters: Letters;
    live: LiveEvents;
    appends: Appends;
    claims: Claims;
    scheduled: Scheduled;
  },
) {
  const { cache, ids, letters, live, appends, claims, scheduled } = parts;
  const { waiting } = prepareAll(db, STATEMENTS);

  /** Returns whether the event is there, and this process's. */
  function settleAt(claimed: Claimed, verdict: Verdict, now: number): boolean {
    switch (verdict.type) {
      case "delivered":
        return live.deliver(claimed, now);
      case "dead": {
        const row = live.removeOwn(claimed, now);
        if (row) letters.keep(row, verdict, now);
        return row !== undefined;
      }
      case "retry":
        return claims.rest(claimed, verdict.history, now + verdict.inMs);
      case "release":
        return claims.release(claimed, now);
      default:
        return false;
    }
  }

  function settleLost(claimed: Claimed, { type }: Verdict, now: number): boolean {
    const { id, kind, interrupted } = claimed;
    // It was held, and never sent. An attempt that was in doubt before the claim still is.
    if (type === "release" && !interrupted)
      for (const row of letters.takeInterrupted(claimed)) requeue(row, row.history, now);
    if (type !== "delivered") return false;
    // The event is delivered, whichever process says so: another may have taken it over and given it up as unconfirmed, or the
    // file may be new and not know it.
    const destination = claimed.destination;
    if (letters.discard(claimed)) return true;
    if (!ids.learn(destination, id)) return false;
    ids.keepDelivered(destination, kind, id);
    return true;
  }

  /** Queues a letter again that was taken out. Returns `false` if that is impossible: it stays a dead letter. */
  function requeue(row: LetterRow, history: string | null, now: number): boolean {
    const event = eventFromRow(row, row.destination);
    const size = row.size - sizeOfWords(row);
    if (event && appends.insert(event, row.data, { queuedAt: now, history, size }, now)) return true;
    letters.put(row);
    return false;
  }

  return {
    /** Acts on a verdict. Returns whether it had an effect: the event may be another process's by now. */
    settle({ claimed, verdict }: Request & { readonly type: "settle" }, now: number): boolean {
      if (settleAt(claimed, verdict, now)) return true;
      // Saved from a lost file, it has another sequence number here.
      const seq = claims.seqOf(claimed);
      if (seq !== undefined) return settleAt({ ...claimed, seq }, verdict, now);
      return settleLost(claimed, verdict, now);
    },
    /** Queues a dead letter again, as the last of its visitor's; `false` where there is none, or the file is full. */
    retry(letter: Letter, now: number): boolean {
      const queued = letters.take(letter).filter((row) => {
        const mayBeTaken =
          // A history that cannot be read is in doubt.
          row.reason === "unconfirmed" ||
          (row.history && (objectFromJson(row.history) as History)?.maybeTaken !== false);
        return requeue(row, mayBeTaken ? JSON.stringify({ ...UNTRIED, maybeTaken: true }) : null, now);
      });
      return queued.length > 0;
    },
    /** Makes an unconfirmed dead letter of each payment that is due and waits, claimed or not. Returns their number. */
    hold(now: number): number {
      scheduled.release(now, Number.MAX_SAFE_INTEGER);
      // Delivered payments do not wait.
      live.removeDelivered();
      const { destinations } = cache.known.totals;
      const found = destinations.flatMap((each) => waiting.all(each, priorityOf("payment")));
      for (const { seq } of found) {
        const row = live.takeOut(seq, now);
        const history = objectFromJson(row.history) as Partial<History> | undefined;
        letters.keep(row, { ...HELD, attempts: history?.attempts ?? UNTRIED.attempts }, now);
      }
      return found.length;
    },
  };
}
