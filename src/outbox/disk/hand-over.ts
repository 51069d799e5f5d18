import type { EventKind } from "../../events.js";
import type { DeathReason } from "../dead-letters.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { ClaimOwners } from "./claim-owners.js";
import type { Delivered } from "./delivered.js";
import type { Destinations } from "./destinations.js";
import type { KnownIds } from "./known-ids.js";
import type { Oldest } from "./oldest.js";
import type { Request, Results, Step } from "./protocol.js";
import type { Removals } from "./removals.js";
import { GROUPS, type QueuePosition, rankOf } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { VisitorQueues } from "./visitor-queues.js";

export const STATEMENTS = {
  waiting: `
    select seq, destination, click_id, session_id, id, kind, size from events
    where destination = ? and urgency = ? and kind = ? order by seq limit ?`,
  // Behind all others: an event of the same visitor may be under way to the new destination.
  move: "update events set destination = ?2, seq = ?3, ready_at = null, urgency = ?4 where seq = ?1",
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

interface Moved {
  readonly seq: number;
  readonly id: string;
  readonly kind: EventKind;
  readonly size: number;
}

const FIRST_STEP: Step = { after: 0 };

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
  parts: {
    state: State;
    destinations: Destinations;
    totals: Totals;
    ids: KnownIds;
    owners: ClaimOwners;
    removals: Removals;
    queues: VisitorQueues;
    oldest: Oldest;
    delivered: Delivered;
  },
) {
  const { state, destinations, totals, ids, owners, removals, queues, oldest, delivered } = parts;
  const { waiting, move, remove, claimed, letters, moveLetter, removeLetter } = prepareAll(db, STATEMENTS);

  /** Returns whether the new destination did not know it. */
  function moveId(id: string, from: number, to: number): boolean {
    ids.forget(from, id);
    return ids.learn(to, id);
  }

  function moveEvents(from: number, to: number): { found: number; moved: number } {
    const limit = ROWS_AT_ONCE + owners.seqs().length;
    const rows: (Moved & QueuePosition)[] = GROUPS.flatMap(({ rank, kind }) =>
      waiting.all(from, rank, kind, limit),
    );
    const first = rows
      .filter(({ seq }) => owners.ownerOf(seq) === undefined)
      .sort((a, b) => a.seq - b.seq)
      .slice(0, ROWS_AT_ONCE);
    const isNew = first.map((row) => {
      const { seq, id, kind, size } = row;
      const isNewTo = moveId(id, from, to);
      if (isNewTo) move.run(seq, to, state.nextSeq(), rankOf(kind));
      else remove.run(seq);
      queues.leave(row, 0);
      oldest.left(from, kind, seq);
      totals.add(from, kind, -1, -size);
      if (isNewTo) totals.add(to, kind, 1, size);
      return isNewTo;
    });
    return { found: first.length, moved: isNew.filter(Boolean).length };
  }

  function moveLetters(from: number, to: number): number {
    const rows: (Moved & { reason: DeathReason })[] = SHEDDING_ORDER.flatMap((kind) =>
      letters.all(from, kind, ROWS_AT_ONCE),
    );
    for (const { seq, id, kind, reason, size } of rows) {
      const isNewTo = moveId(id, from, to);
      if (isNewTo) moveLetter.run(seq, to);
      else removeLetter.run(seq);
      totals.add(from, `${kind} ${reason}`, -1, -size);
      if (isNewTo) totals.add(to, `${kind} ${reason}`, 1, size);
    }
    return rows.length;
  }

  /** Returns whether any id was moved. */
  function moveIds(from: number, to: number): boolean {
    // An event under way goes where it was going, and its id stays there.
    const underWay: string[] = claimed.all(JSON.stringify(owners.seqs()), from).map(({ id }) => id);
    const staying = underWay.filter((id) => !ids.isKnown(to, id));
    const moved = ids.handOver(from, to, IDS_AT_ONCE + underWay.length);
    for (const id of staying) ids.forget(to, id);
    for (const id of underWay) ids.learn(from, id);
    return moved > underWay.length;
  }

  return ({ from, to, step }: Request & { readonly type: "hand over" }): Results["hand over"] => {
    if (from === to) return { moved: 0, next: undefined };
    removals.run();
    const [source, target] = [destinations.numberOf(from), destinations.numberOf(to)];
    const { found, moved } = moveEvents(source, target);
    const foundLetters = moveLetters(source, target);
    // Events and letters go before ids, at each step anew: another process may have stored more meanwhile.
    if (found + foundLetters > 0) return { moved, next: step };
    if (step.kind === undefined) {
      const any = moveIds(source, target);
      return { moved, next: any ? step : { kind: "click", after: 0 } };
    }
    const after = delivered.handOver(step.kind, source, target, step.after);
    const nextKind = SHEDDING_ORDER[SHEDDING_ORDER.indexOf(step.kind) + 1];
    if (after !== undefined) return { moved, next: { kind: step.kind, after } };
    return { moved, next: nextKind && { kind: nextKind, after: 0 } };
  };
}
