import type { Verdict } from "../claim.js";
import type { Database, Statements, Value } from "./database.js";
import type { QueueClaim } from "./leases.js";
import type { createQueues } from "./queues.js";
import { CLAIMED, RESTING, rankOf } from "./ranks.js";
import { asciiJson, DEAD, DONE, forgotten, marks, QUEUED } from "./rows.js";

export type Settlement = readonly [claim: QueueClaim, verdict: Verdict];

/** What a verdict has done. */
export interface Effect {
  /** `false`: another process has the event, and the verdict had no effect. */
  readonly isActedOn: boolean;
  /** Whether the event is no longer queued. */
  readonly hasLeft: boolean;
}

/** The row of an event that this process no longer has claimed. */
interface Lost {
  readonly visitor: string;
  readonly state: number;
  readonly reason: string | null;
  readonly death: string | null;
}

type Of<Type extends Verdict["type"]> = readonly [QueueClaim, Verdict & { readonly type: Type }];

/** Acts on verdicts. */
export function createSettle(
  { words }: Pick<Database, "words">,
  {
    worker,
    rememberMs,
    queues: visitors,
  }: { worker: string; rememberMs: number; queues: ReturnType<typeof createQueues> },
) {
  const { events, queues, now } = words;

  async function markDone(tx: Statements, seqs: readonly number[]): Promise<void> {
    if (seqs.length === 0) return;
    await tx.write(
      `update ${events} set ${forgotten(DONE, now, rememberMs)} where seq in (${marks(seqs)})`,
      seqs,
    );
  }

  /** An event that was not sent says nothing about its endpoint: see unanswered.ts. */
  async function markSkipped(tx: Statements, delivered: readonly Settlement[]): Promise<void> {
    const isSkipped = ([, verdict]: Settlement) => verdict.type === "delivered" && verdict.isSkipped;
    const seqs = delivered.filter(isSkipped).map(([{ seq }]) => seq);
    if (seqs.length === 0) return;
    await tx.write(`update ${events} set reason = 'skipped' where seq in (${marks(seqs)})`, seqs);
  }

  async function bury(tx: Statements, dead: readonly Of<"dead">[]): Promise<void> {
    for (const [{ seq }, { type: _, ...death }] of dead) {
      const json = asciiJson(death);
      await tx.write(
        `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = ?, death = ?, size = size + ?, interrupted = 0
         where seq = ?`,
        [death.reason, json, json.length, seq],
      );
    }
  }

  /** The same event stays its visitor's head. */
  async function keep(
    tx: Statements,
    kept: readonly Of<"retry" | "release">[],
    urgencyOf: (visitor: string) => number,
  ): Promise<void> {
    const retried = kept.filter((each): each is Of<"retry"> => each[1].type === "retry");
    if (retried.length > 0) {
      const seqs = retried.map(([{ seq }]) => seq);
      await tx.write(
        `update ${events} set interrupted = 0, history = case seq ${marks(seqs, "when ? then ?").replaceAll(", ", " ")} end
         where seq in (${marks(seqs)})`,
        [...retried.flatMap(([{ seq }, { history }]) => [seq, asciiJson(history)]), ...seqs],
      );
    }
    if (kept.length === 0) return;
    const rows = kept.map(([{ visitor, endpoint, dueAt, history }, verdict]) => {
      const isRetry = verdict.type === "retry";
      const wasTried = (isRetry ? verdict.history : history).triedAt > 0;
      const rests = isRetry && verdict.inMs > 0;
      // What is released has been ready since as long as it was.
      const due = isRetry ? ([`${now} + ?`, Math.round(verdict.inMs)] as const) : (["?", dueAt] as const);
      const turn = rests ? RESTING : rankOf(urgencyOf(visitor), wasTried, endpoint);
      return { visitor, wasTried: Number(wasTried), turn, due };
    });
    const cases = (then: (row: (typeof rows)[0]) => string) =>
      `case visitor ${rows.map((row) => `when ? then ${then(row)}`).join(" ")} end`;
    const names = rows.map(({ visitor }) => visitor);
    const values: Value[] = [
      ...rows.flatMap(({ visitor, turn }) => [visitor, turn]),
      ...rows.flatMap(({ visitor, due }) => [visitor, due[1]]),
      ...rows.flatMap(({ visitor, wasTried }) => [visitor, wasTried]),
      ...names,
    ];
    await tx.write(
      `update ${queues} set turn = ${cases(() => "?")}, due_at = ${cases(({ due }) => due[0])}, tried = ${cases(() => "?")},
         claimed_by = null
       where visitor in (${marks(names)})`,
      values,
    );
  }

  /**
   * @param isRepeated a request before may have acted on the verdict: its answer was lost.
   */
  return async function settle(
    tx: Statements,
    settled: readonly Settlement[],
    isRepeated: (claim: QueueClaim) => boolean,
  ): Promise<Effect[]> {
    const locked = await visitors.lock(
      tx,
      settled.map(([claim]) => claim),
    );
    const isOwn = ({ visitor, seq }: QueueClaim) => {
      const queue = locked.get(visitor);
      return queue?.turn === CLAIMED && queue.claimed_by === worker && queue.head === seq;
    };
    const stillHeld = settled.filter(([claim]) => isOwn(claim));
    const lost = settled.filter(([claim]) => !isOwn(claim));
    // Another process has them, or the request is repeated. A delivery counts all the same.
    const rows = new Map<number, Lost>();
    if (lost.length > 0) {
      const seqs = lost.map(([{ seq }]) => seq);
      const isDelivery = lost.some(([, { type }]) => type === "delivered");
      const found = await tx.rows(
        `select seq, visitor, state, reason, death from ${events}${words.byVisitor}
         where seq in (${marks(seqs)}) order by seq${isDelivery ? words.forUpdate : ""}`,
        seqs,
      );
      for (const row of found) rows.set(Number(row.seq), { ...row, state: Number(row.state) });
      // One that was retried meanwhile may be in another queue.
      const others = found.filter(({ visitor }) => isDelivery && visitor && !locked.has(visitor));
      if (others.length > 0) for (const each of await visitors.lock(tx, others)) locked.set(...each);
    }
    const isDelivered = ([claim, { type }]: Settlement) => {
      if (type !== "delivered" || isOwn(claim)) return type === "delivered";
      const row = rows.get(claim.seq);
      return row?.state === QUEUED || (row?.state === DEAD && row.reason === "unconfirmed");
    };
    const delivered = settled.filter(isDelivered);
    await markDone(
      tx,
      delivered.map(([{ seq }]) => seq),
    );
    await markSkipped(tx, delivered);
    const dead = stillHeld.filter((each): each is Of<"dead"> => each[1].type === "dead");
    await bury(tx, dead);
    const kept = stillHeld.filter(
      (each): each is Of<"retry" | "release"> => each[1].type === "retry" || each[1].type === "release",
    );
    await keep(tx, kept, (visitor) => locked.get(visitor)?.urgency as number);
    const visitorNow = ([claim]: Settlement) => rows.get(claim.seq)?.visitor ?? claim.visitor;
    const gone = new Set([...delivered, ...dead].map(visitorNow));
    await visitors.refresh(tx, new Map([...locked].filter(([visitor]) => gone.has(visitor))));
    return settled.map(([claim, verdict]) => {
      const hasLeft = verdict.type === "delivered" || verdict.type === "dead";
      if (isOwn(claim)) return { isActedOn: true, hasLeft };
      const row = rows.get(claim.seq);
      if (verdict.type === "delivered") {
        return {
          isActedOn: true,
          hasLeft: row?.state === QUEUED || (isRepeated(claim) && row?.state === DONE),
        };
      }
      if (verdict.type !== "dead") return { isActedOn: true, hasLeft: false };
      const { type: _, ...death } = verdict;
      const isDone = isRepeated(claim) && row?.state === DEAD && row.death === asciiJson(death);
      return { isActedOn: isDone, hasLeft: isDone };
    });
  };
}
