import { priorityOf } from "../../../conversion/kinds.js";
import { objectFromJson } from "../../../shared/json.js";
import { type History, UNTRIED, type Verdict } from "../../claim.js";
import { HELD } from "../../dead-letters.js";
import type { Appends } from "./appends.js";
import type { Claimed, Letter, RequestOf } from "./requests.js";
import type { Tables } from "./tables.js";

export const STATEMENTS = {
  // An event that was claimed on arrival, and may have become more urgent since.
  enter: `
    update events set state = 'ready', ready_at = case when urgency > ?4 then ?3 else queued_at end
    where seq = ?1 and id = ?2 and state = 'new'`,
  place: "select destination, endpoint, urgency from events where seq = ? and id = ?",
  // Another process has taken the event over, and this one never sent it.
  clear: "update events set interrupted = 0 where seq = ? and id = ?",
  rest: `
    update events set interrupted = 0, state = 'tried', history = ?3, ready_at = ?4 where seq = ?1 and id = ?2`,
  seqOf: `
    select seq from events where seq in (select value from json_each(?)) and id = ? and destination = ?`,
  waiting: "select seq from events where destination = ? and urgency = ? and kind = 'payment' order by seq",
} as const;

/** Acts on what becomes of an event: by the service's verdict, or by an operator's. */
export function createSettlements(
  { cache, ids, queues, letters, live, scheduled }: Tables,
  { requeue }: Appends,
) {
  const statements = cache.prepare(STATEMENTS);

  /** Returns whether it was still claimed. */
  function release({ seq, id, kind, owner, interrupted }: Claimed, now: number): boolean {
    const { claims } = cache.known;
    const row = claims.ownerOf(seq) === owner ? statements.place.get(seq, id) : undefined;
    if (row) {
      if (claims.onArrival(seq)) statements.enter.run(seq, id, now, priorityOf(kind));
      claims.remove(seq);
      queues.noteReady(row);
      return true;
    }
    return !interrupted && claims.ownerOf(seq) === undefined && statements.clear.run(seq, id).changes > 0;
  }

  /** The event is ready again at `readyAt`. Returns whether it was still claimed. */
  function rest({ seq, id, destination, owner }: Claimed, history: History, readyAt: number): boolean {
    const { known } = cache;
    if (known.claims.ownerOf(seq) !== owner) return false;
    if (statements.rest.run(seq, id, JSON.stringify(history), Math.ceil(readyAt)).changes === 0) return false;
    known.claims.remove(seq);
    const notes = queues.notes();
    notes.anyQueued = true;
    notes.anyTried.set(destination, true);
    return true;
  }

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
        return rest(claimed, verdict.history, now + verdict.inMs);
      case "release":
        return release(claimed, now);
      default:
        return false;
    }
  }

  function settleLost(claimed: Claimed, { type }: Verdict, now: number): boolean {
    const { id, destination, kind, interrupted } = claimed;
    // This process never sent the event. If an earlier attempt was in doubt, it still is.
    if (type === "release" && !interrupted)
      for (const row of letters.takeInterrupted(claimed)) requeue(row, row.history, now);
    if (type !== "delivered") return false;
    // It is delivered, whichever process says so. Another one may have taken it over and given it
    // up as unconfirmed, or the file may be new and not have it.
    if (letters.discard(claimed)) return true;
    if (!ids.learn(destination, id)) return false;
    ids.keepDelivered(destination, kind, id);
    return true;
  }

  return {
    /** Returns whether the verdict had an effect: the event may be another process's by now. */
    settle({ claimed, verdict }: RequestOf<"settle">, now: number): boolean {
      if (settleAt(claimed, verdict, now)) return true;
      // An event that was saved from a lost file has another sequence number here.
      const { id, destination, owner } = claimed;
      const owned = JSON.stringify(cache.known.claims.seqs(owner));
      const seq = statements.seqOf.get(owned, id, destination)?.seq;
      if (seq !== undefined) return settleAt({ ...claimed, seq }, verdict, now);
      return settleLost(claimed, verdict, now);
    },
    /** Queues a dead letter again, as its visitor's last. `false` if there is none, or no space. */
    retry(letter: Letter, now: number): boolean {
      const queued = letters.take(letter).filter((row) => {
        const mayBeTaken =
          // Without a readable history, the service may have it.
          row.reason === "unconfirmed" ||
          (row.history && (objectFromJson(row.history) as History)?.maybeTaken !== false);
        return requeue(row, mayBeTaken ? JSON.stringify({ ...UNTRIED, maybeTaken: true }) : null, now);
      });
      return queued.length > 0;
    },
    /** Gives up all payments that are due, claimed or not, as unconfirmed. Returns their number. */
    hold(now: number): number {
      scheduled.release(now, Number.MAX_SAFE_INTEGER);
      // Delivered payments do not wait.
      live.removeDelivered();
      const { destinations } = cache.known.totals;
      const found = destinations.flatMap((each) => statements.waiting.all(each, priorityOf("payment")));
      for (const { seq } of found) {
        const row = live.takeOut(seq, now);
        const history = objectFromJson(row.history) as Partial<History> | undefined;
        letters.keep(row, { ...HELD, attempts: history?.attempts ?? UNTRIED.attempts }, now);
      }
      return found.length;
    },
  };
}
