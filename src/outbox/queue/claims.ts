import { type Capacity, type Lane, UNTRIED } from "../outbox.js";
import type { Chores } from "./chores.js";
import type { Database, Scope } from "./database.js";
import type { QueueClaim, ServerClock, UnderWay } from "./leases.js";
import { isLeasedSince, type Moment, momentBy, type TwoClocks } from "./leases.js";
import { CLAIMED, endpointIn, type Quota, RESTING, type Scan, scansOf } from "./ranks.js";
import { contentsOf, type EventRow, eventOf, forLength, inState, marks, NEW } from "./rows.js";

/** A queue whose head may be claimed. */
interface Candidate {
  readonly step: number;
  readonly visitor: string;
  readonly head: number;
  readonly due_at: number;
  readonly turn: number;
}

interface Choice {
  readonly candidate: Candidate;
  readonly quota: Quota;
}

interface TakenHead extends Choice {
  readonly row: Head;
}

/** The columns that a claim needs. In SQLite, reading one column costs more than finding the row. */
const OF_HEAD = [
  ...(["seq", "destination", "id", "kind", "visitor", "created_at", "queued_at", "data", "size"] as const),
  ...(["history", "interrupted"] as const),
] as const;

type Head = Pick<EventRow, (typeof OF_HEAD)[number]>;

const CLAIMED_AT_ONCE = 200;
// So many more are read, because some cannot be taken: another process or another step has them, or
// their head was deleted by hand.
const MORE = 24;
// Limits are rounded up to a multiple of this (chosen), so that few statements are prepared.
const ROUNDED_TO = 32;
const MOST_ROUNDS = 2;
// Capacities have few shapes.
const MOST_TEXTS = 400;

/** What there is to do before a claim, by the negative step of its row among the candidates. */
const [HAS_NEW, HAS_RESTED, HAS_LEFT, TIME] = [-4, -3, -2, -1];

const roundedLimit = ({ limit }: Scan) => Math.ceil((limit + MORE) / ROUNDED_TO) * ROUNDED_TO;

/** Claims events. */
export function createClaims(
  database: Database,
  options: {
    worker: string;
    scope: Scope;
    leaseMs: number;
    clock: TwoClocks;
    serverClock: ServerClock;
    underWay: UnderWay;
    chores: Chores;
    /** Makes dead letters of events whose rows cannot be read. */
    giveUp: (claims: readonly QueueClaim[]) => Promise<unknown>;
  },
) {
  const { worker, scope, leaseMs, clock, serverClock, underWay, chores, giveUp } = options;
  const { words } = database;
  const { events, queues, now } = words;
  /** Until then, what an earlier claim whose answer was lost has claimed may turn up. */
  let doubtfulUntil = Number.NEGATIVE_INFINITY;

  const flag = (step: number, from: string) =>
    `select * from (select ${step} as step, '' as visitor, 0 as head, ${now} as due_at, 0 as turn
       from ${from} limit 1) as f${-step}`;
  const ofQueues = (turn: number) =>
    `${queues} where ${scope.condition} and turn = ${turn} and due_at <= ${now}`;
  // Each is one look at an index.
  const flags = () => [
    flag(HAS_NEW, `${events} where ${scope.condition} and ${inState(NEW)}`),
    flag(HAS_RESTED, ofQueues(RESTING)),
    flag(HAS_LEFT, ofQueues(CLAIMED)),
    flag(TIME, "(select 1 as one) as always"),
  ];

  /** By the scans' shapes. */
  const texts = new Map<string, string>();

  // The limit is part of the text: if it were bound, SQLite would plan the statement anew for each.
  function selectOf(scan: Scan, step: number): string {
    const { newestFirst, newWithinMs } = scan;
    const direction = newestFirst ? " desc" : "";
    const isNew = newWithinMs === undefined ? "" : ` and due_at >= ${now} - ${newWithinMs}`;
    return `select * from (select ${step} as step, visitor, head, due_at, turn from ${queues}
      where ${scope.condition} and turn between ? and ?${isNew} order by turn${direction}, due_at${direction}, head${direction}
      limit ${roundedLimit(scan)}) as s${step}`;
  }

  /** Queues whose heads may be claimed, in order, and what there is to do before. */
  async function candidatesOf(scans: readonly Scan[]): Promise<Candidate[]> {
    const askedAt = clock.monotonic();
    const shape = scans.map((scan) => `${scan.newestFirst} ${scan.newWithinMs} ${roundedLimit(scan)}`);
    const key = [scope.condition, ...shape].join();
    const text = texts.get(key) ?? [...flags(), ...scans.map(selectOf)].join(" union all ");
    if (texts.size >= MOST_TEXTS) texts.clear();
    texts.set(key, text);
    const candidates = await database.rows<Candidate>(
      text,
      scans.flatMap(({ from, to }) => [from, to]),
    );
    const time = candidates.find(({ step }) => step === TIME);
    if (time) serverClock.tell(time.due_at, askedAt);
    return candidates
      .filter(({ step }) => step !== TIME)
      .sort((one, other) => {
        const sign = scans[one.step]?.newestFirst ? -1 : 1;
        const later = one.due_at - other.due_at || one.head - other.head;
        return one.step - other.step || one.turn - other.turn || sign * later;
      });
  }

  async function doChores(candidates: readonly Candidate[]): Promise<void> {
    const steps = new Set(candidates.map(({ step }) => step));
    if (steps.has(HAS_NEW)) await chores.place();
    if (steps.has(HAS_LEFT)) await chores.takeOver();
    if (steps.has(HAS_RESTED)) await chores.endRests();
  }

  /** Chooses visitors whose heads a lane has room for, in the candidates' order, at most `most`. */
  function choose(candidates: readonly Candidate[], scans: readonly Scan[], most: number) {
    const choices = new Map<string, Choice>();
    for (const candidate of candidates) {
      const quota = scans[candidate.step]?.quotas.get(endpointIn(candidate.turn));
      if (!quota || quota.left < 1 || choices.size === most || choices.has(candidate.visitor)) continue;
      choices.set(candidate.visitor, { candidate, quota });
      quota.left--;
    }
    return choices;
  }

  async function take(lanes: readonly Lane[], limit: number): Promise<QueueClaim[]> {
    const since = momentBy(clock);
    const scans = scansOf(lanes, limit);
    const taken: TakenHead[] = [];
    let candidates = await candidatesOf(scans);
    if (candidates.some(({ step }) => step < 0)) {
      await doChores(candidates);
      candidates = (await candidatesOf(scans)).filter(({ step }) => step >= 0);
    }
    for (let round = 1; candidates.length > 0; round++) {
      const choices = choose(candidates, scans, limit - taken.length);
      if (choices.size === 0) break;
      const heads = await takeHeads(choices);
      for (const [visitor, { candidate, quota }] of choices) {
        const row = heads.get(visitor);
        if (row) taken.push({ candidate, quota, row });
        else quota.left++;
      }
      // Another process was faster: the next ones, or two would have the rate of one. But no more than
      // once, if something is taken: it waits meanwhile.
      const triesMore = heads.size < choices.size && (round < MOST_ROUNDS || taken.length === 0);
      candidates = triesMore ? candidates.filter(({ visitor }) => !choices.has(visitor)) : [];
    }
    taken.sort(({ candidate: one }, { candidate: other }) => one.step - other.step || one.turn - other.turn);
    const claims: QueueClaim[] = [];
    const unreadable: QueueClaim[] = [];
    for (const head of taken) {
      const contents = contentsOf(head.row);
      const claim = claimOf(head, contents ?? { event: eventOf(head.row), history: UNTRIED }, since);
      (contents ? claims : unreadable).push(claim);
    }
    if (unreadable.length > 0) await giveUp(unreadable);
    for (const claim of claims) underWay.set(claim.seq, claim);
    return claims;
  }

  const lookUp = forLength(
    (visitors) => `select ${OF_HEAD.map((column) => `e.${column}`).join(", ")}, q.due_at
      from ${queues} q${words.byVisitor} join ${events} e on e.seq = q.head
      where q.visitor in (${marks(visitors)}) and q.turn <> ${CLAIMED}${words.skipLocked}`,
  );
  const lease = forLength(
    (heads) => `update ${queues} set turn = ${CLAIMED}, due_at = ${now} + ${leaseMs}, claimed_by = ?
      where visitor in (${marks(heads)})`,
  );

  /** Takes those that are still as seen. Resolves to their heads, by visitor. */
  async function takeHeads(choices: ReadonlyMap<string, Choice>): Promise<Map<string, Head>> {
    const visitors = [...choices.keys()];
    return database.transaction(async (tx) => {
      const rows = await tx.rows<Head & Pick<Candidate, "due_at">>(lookUp(visitors), visitors);
      const heads = rows.filter(({ visitor, seq, due_at }) => {
        // After a change by hand, the head's row may be of another visitor, or missing.
        const candidate = choices.get(visitor)?.candidate;
        return candidate && seq === candidate.head && due_at === candidate.due_at;
      });
      if (heads.length > 0) {
        await tx.write(lease(heads), [worker, ...heads.map(({ visitor }) => visitor)]);
      }
      return new Map(heads.map((head) => [head.visitor, head]));
    });
  }

  function claimOf(
    { row, candidate, quota: { lane } }: TakenHead,
    { event, history }: Pick<QueueClaim, "event" | "history">,
    since: Moment,
  ): QueueClaim {
    const { turn, due_at: dueAt } = candidate;
    const claim: QueueClaim = {
      seq: row.seq,
      visitor: row.visitor,
      endpoint: endpointIn(turn),
      dueAt,
      lane,
      event,
      history,
      size: row.size,
      interrupted: row.interrupted === 1,
      queuedAt: row.queued_at,
      leaseAskedAt: since,
      isLeased: () => claim.leaseAskedAt !== undefined && isLeasedSince(claim.leaseAskedAt, leaseMs, clock),
    };
    return claim;
  }

  return async ({ lanes, limit }: Capacity): Promise<QueueClaim[]> => {
    if (clock.monotonic() < doubtfulUntil) await chores.giveBackUnknown();
    try {
      return await take(lanes, Math.min(limit, CLAIMED_AT_ONCE));
    } catch (error) {
      // The server may still be at it, and claim after it is asked again.
      doubtfulUntil = clock.monotonic() + leaseMs;
      throw error;
    }
  };
}
