import type { DeathReason } from "../dead-letters.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { LiveEvents } from "./live-events.js";
import type { Request, Results, Step } from "./protocol.js";
import type { Queues } from "./queues.js";
import { type EventRow, GROUPS, rankOf } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Counted } from "./totals.js";

export const STATEMENTS = {
  waiting: `
    select seq, destination, click_id, session_id, id, kind, size from events
    where destination = ? and urgency = ? and kind = ? order by seq limit ?`,
  // Behind all others: an event of the same visitor may be under way to the new destination.
  move: "update events set destination = ?2, seq = ?3, state = 'new', ready_at = null, urgency = ?4 where seq = ?1",
  remove: "delete from events where seq = ?",
  claimed: "select id from events where seq in (select value from json_each(?)) and destination = ?",
  letters: `
    select seq, id, kind, reason, size from dead_letters where destination = ? and kind = ? order by reason, seq limit ?`,
  moveLetter: "update dead_letters set destination = ?2 where seq = ?1",
  removeLetter: "delete from dead_letters where seq = ?",
} as const;

// So few that other processes can write in between.
const ROWS_AT_ONCE = 200;
const IDS_AT_ONCE = 1_000;

type Moved = Pick<EventRow, "seq" | "id" | "size">;

const FIRST_STEP: Step = { after: undefined };

/** Hands one destination's events over to another, a few at a time. Resolves to the number of waiting events. */
export async function handOverThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["type"]]>,
  from: string,
  to: string,
): Promise<number> {
  let sum = 0;
  let step: Step | undefined = FIRST_STEP;
  while (step) {
    const done: Results["hand over"] = await ask({ type: "hand over", from, to, step });
    sum += done.moved;
    step = done.next;
  }
  return sum;
}

/** Runs one step of a handover. After each step, each id is known to the same destination as its event. */
export function createHandOver(
  db: Database,
  { cache, ids, queues, live }: { cache: Cache; ids: KnownIds; queues: Queues; live: LiveEvents },
) {
  const { waiting, move, remove, claimed, letters, moveLetter, removeLetter } = prepareAll(db, STATEMENTS);

  /** Moves an id with what it is the id of. Returns whether the new destination did not know it. */
  function moveOne({ id, size }: Moved, counted: Counted, from: number, to: number): boolean {
    const { totals } = cache.known;
    ids.forget(from, id);
    const isNew = ids.learn(to, id);
    totals.add(from, counted, -1, -size);
    if (isNew) totals.add(to, counted, 1, size);
    return isNew;
  }

  function moveEvents(from: number, to: number): { found: number; moved: number } {
    const { known } = cache;
    const limit = ROWS_AT_ONCE + known.claims.seqs().length;
    const rows: EventRow[] = GROUPS.flatMap(({ rank, kind }) => waiting.all(from, rank, kind, limit));
    const first = rows
      .filter(({ seq }) => known.claims.ownerOf(seq) === undefined)
      .sort((a, b) => a.seq - b.seq)
      .slice(0, ROWS_AT_ONCE);
    let moved = 0;
    for (const row of first) {
      if (moveOne(row, row.kind, from, to)) {
        move.run(row.seq, to, known.nextSeq(), rankOf(row.kind));
        moved++;
      } else remove.run(row.seq);
      queues.leave(row, 0);
    }
    return { found: first.length, moved };
  }

  function moveLetters(from: number, to: number): number {
    const rows: (Pick<EventRow, "seq" | "id" | "kind" | "size"> & { reason: DeathReason })[] =
      SHEDDING_ORDER.flatMap((kind) => letters.all(from, kind, ROWS_AT_ONCE));
    for (const row of rows) {
      if (moveOne(row, `${row.kind} ${row.reason}`, from, to)) moveLetter.run(row.seq, to);
      else removeLetter.run(row.seq);
    }
    return rows.length;
  }

  /** Returns whether any id was moved. */
  function moveIds(from: number, to: number): boolean {
    // An event under way goes where it was going, and its id stays there.
    const seqs = JSON.stringify(cache.known.claims.seqs());
    const underWay: string[] = claimed.all(seqs, from).map(({ id }) => id);
    const staying = underWay.filter((id) => !ids.isKnown(to, id));
    const moved = ids.handOver(from, to, IDS_AT_ONCE + underWay.length);
    for (const id of staying) ids.forget(to, id);
    for (const id of underWay) ids.learn(from, id);
    return moved > underWay.length;
  }

  return ({ from, to, step }: Request & { readonly type: "hand over" }): Results["hand over"] => {
    if (from === to) return { moved: 0, next: undefined };
    live.removeDelivered();
    const [source, target] = [cache.numberOf(from), cache.numberOf(to)];
    const { found, moved } = moveEvents(source, target);
    const foundLetters = moveLetters(source, target);
    // Events and letters go before ids, at each step anew: another process may have stored more meanwhile.
    if (found + foundLetters > 0) return { moved, next: step };
    if (step.after === undefined) return { moved, next: moveIds(source, target) ? step : { after: 0 } };
    const after = ids.handDeliveredOver(source, target, step.after);
    return { moved, next: after === undefined ? undefined : { after } };
  };
}
