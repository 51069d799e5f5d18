import { type Capacity, type Lane, UNTRIED } from "../claim.js";
import { isHeldSince, type Moment, momentBy, type TwoClocks } from "../lease.js";
import type { Chores } from "./chores.js";
import type { Database } from "./database.js";
import type { QueueClaim, UnderWay } from "./leases.js";
import { CLAIMED, RESTING, rankInSql, type Scan, scansOf } from "./ranks.js";
import { contentsOf, EVENT, type EventRow, eventOf, historyOf, inState, marks, NEW } from "./rows.js";
import type { Scope } from "./scope.js";
import type { ServerClock } from "./server-clock.js";

/** A queue whose head may be claimed. */
interface Candidate {
  readonly step: number;
  readonly visitor: string;
  readonly head: number;
  readonly urgency: number;
  readonly due_at: number;
  readonly endpoint: number;
  readonly turn: number;
}

type Place = Scan["places"] extends Map<number, infer Each> ? Each : never;

interface Chosen {
  readonly candidate: Candidate;
  readonly place: Place;
}

interface Taken extends Chosen {
  readonly row: EventRow;
}

const CLAIMED_AT_ONCE = 200;
// So many more are read: another process may claim the first ones meanwhile.
const MORE = 24;

/** What there is to do before a claim, by the negative step of its row among the candidates. */
const [HAS_NEW, HAS_RESTED, HAS_LEFT, TIME] = [-4, -3, -2, -1];

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
    `select * from (select ${step} as step, '' as visitor, 0 as head, 0 as urgency, ${now} as due_at, 0 as endpoint, 0 as turn
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

  function selectOf({ where, newestFirst }: Scan, step: number): string {
    const direction = newestFirst ? " desc" : "";
    return `select * from (select ${step} as step, visitor, head, urgency, due_at, endpoint, turn from ${queues}
      where ${scope.condition} and ${where} order by turn${direction}, due_at${direction}, head${direction}
      limit ?) as s${step}`;
  }

  /** Queues whose heads may be claimed, in order. The first time, also what there is to do before. */
  async function candidatesOf(scans: readonly Scan[], from: number): Promise<Candidate[]> {
    // A server is asked once. In the host's own process, the first may be enough.
    const chosen = words.isSerial && from === 0 ? scans.slice(0, 1) : scans.slice(from);
    const more = words.isSerial ? 0 : MORE;
    const isFirst = from === 0;
    const selects = [...(isFirst ? flags() : []), ...chosen.map((scan, nth) => selectOf(scan, from + nth))];
    const askedAt = clock.monotonic();
    const rows = await database.rows<Candidate>(selects.join(" union all "), [
      ...(isFirst ? [...scope.values, ...scope.values, ...scope.values] : []),
      ...chosen.flatMap(({ values, limit }) => [...scope.values, ...values, limit + more]),
    ]);
    const candidates = rows.map(({ visitor, ...numbers }) => {
      const entries = Object.entries(numbers).map(([name, value]) => [name, Number(value)]);
      return { visitor, ...Object.fromEntries(entries) } as Candidate;
    });
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

  async function doChores(found: readonly Candidate[]): Promise<void> {
    const steps = new Set(found.map(({ step }) => step));
    if (steps.has(HAS_NEW)) await chores.place();
    if (steps.has(HAS_LEFT)) await chores.takeOver();
    if (steps.has(HAS_RESTED)) await chores.endRests();
  }

  /** Chooses as many as there are places. `left`: candidates without one. */
  function choose(
    candidates: readonly Candidate[],
    scans: readonly Scan[],
    taken: ReadonlyMap<string, unknown>,
    limit: number,
  ) {
    const chosen = new Map<string, Chosen>();
    const left: Candidate[] = [];
    for (const candidate of candidates) {
      const { step, endpoint, visitor } = candidate;
      const place = scans[step]?.places.get(endpoint);
      if (!place || taken.has(visitor) || chosen.has(visitor)) continue;
      if (place.left < 1 || taken.size + chosen.size >= limit) left.push(candidate);
      else {
        chosen.set(visitor, { candidate, place });
        place.left--;
      }
    }
    return { chosen, left };
  }

  async function take(lanes: readonly Lane[], limit: number): Promise<QueueClaim[]> {
    const since = momentBy(clock);
    const scans = scansOf(lanes, limit, now);
    const taken = new Map<string, Taken>();
    const starts = words.isSerial && scans.length > 1 ? [0, 1] : [0];
    for (const from of starts) {
      if (taken.size >= limit) break;
      let found = await candidatesOf(scans, from);
      if (found.some((each) => each.step < 0)) {
        await doChores(found);
        found = (await candidatesOf(scans, from)).filter((each) => each.step >= 0);
      }
      for (let rest = found; rest.length > 0 && taken.size < limit; ) {
        const { chosen, left } = choose(rest, scans, taken, limit);
        if (chosen.size === 0) break;
        const takenHeads = await takeHeads([...chosen.values()].map(({ candidate }) => candidate));
        for (const row of takenHeads) taken.set(row.visitor, { row, ...(chosen.get(row.visitor) as Chosen) });
        for (const [visitor, { place }] of chosen) if (!taken.has(visitor)) place.left++;
        // Another process was faster: the next ones. Otherwise two would have the rate of one.
        rest = takenHeads.length < chosen.size ? left : [];
      }
    }
    const all = [...taken.values()].sort(
      ({ candidate: one }, { candidate: other }) => one.step - other.step || one.turn - other.turn,
    );
    const unreadable = all.filter(({ row }) => !contentsOf(row));
    if (unreadable.length > 0) await giveUp(unreadable.map((each) => claimOf(each, since)));
    const claims = all.filter((each) => !unreadable.includes(each)).map((each) => claimOf(each, since));
    for (const claim of claims) underWay.set(claim.seq, claim);
    return claims;
  }

  /** Takes those that are still as seen. Resolves to their heads, in order. */
  async function takeHeads(seen: readonly Candidate[]): Promise<EventRow[]> {
    const visitors = seen.map(({ visitor }) => visitor);
    const order = new Map(visitors.map((visitor, nth) => [visitor, nth]));
    const sorted = (rows: EventRow[]) =>
      rows.sort((one, other) => (order.get(one.visitor) as number) - (order.get(other.visitor) as number));
    const set = `update ${queues} set turn = ${CLAIMED}, due_at = ${now} + ${leaseMs}, claimed_by = ? where`;
    if (words.isSerial) {
      await database.write(`${set} visitor in (${marks(visitors)})`, [worker, ...visitors]);
      const heads = seen.map(({ head }) => head);
      return sorted(
        await database.rows(`select ${EVENT} from ${events} e where e.seq in (${marks(heads)})`, heads),
      );
    }
    const isAsSeen = `q.visitor in (${marks(visitors)}) and q.turn <> ${CLAIMED}
      and (q.visitor, q.head, q.due_at) in (${marks(seen, "(?, ?, ?)")})`;
    const values = [...visitors, ...seen.flatMap(({ visitor, head, due_at }) => [visitor, head, due_at])];
    if (words.updatesInSelect) {
      return sorted(
        await database.rowsOnce(
          `with own as (${set} visitor in (${marks(visitors)})
             and visitor in (select q.visitor from ${queues} q where ${isAsSeen}${words.skipLocked}) returning head${words.durably})
           select ${EVENT} from own join ${events} e on e.seq = own.head`,
          [worker, ...visitors, ...values],
        ),
      );
    }
    return database.transaction(async (tx) => {
      const heads = await tx.rows<EventRow>(
        `select ${EVENT} from ${queues} q${words.byVisitor} join ${events} e on e.seq = q.head
         where ${isAsSeen}${words.skipLocked}`,
        values,
      );
      if (heads.length > 0) {
        const mine = heads.map(({ visitor }) => visitor);
        await tx.write(`${set} visitor in (${marks(mine)})`, [worker, ...mine]);
      }
      return sorted(heads);
    });
  }

  function claimOf({ row, candidate, place: { lane } }: Taken, since: Moment): QueueClaim {
    const [event, history] = [eventOf(row), historyOf(row) ?? UNTRIED];
    const { endpoint, due_at: dueAt } = candidate;
    const claim: QueueClaim = {
      ...{ seq: Number(row.seq), visitor: row.visitor, endpoint, dueAt, lane, event, history },
      interrupted: Number(row.interrupted) === 1,
      queuedAt: Number(row.queued_at),
      leasedSince: since,
      isHeld: () => claim.leasedSince !== undefined && isHeldSince(claim.leasedSince, leaseMs, clock),
    };
    return claim;
  }

  /** Gives back what a claim has claimed whose answer was lost. */
  async function giveBackUnknown(): Promise<void> {
    const isUnknown = `turn = ${CLAIMED} and claimed_by = ? and head not in (${marks([0, ...underWay])})`;
    const values = [worker, 0, ...underWay.keys()];
    const rows = await database.rows(
      `select visitor from ${queues} where ${scope.condition} and ${isUnknown}`,
      [...scope.values, ...values],
    );
    for (const { visitor } of rows) {
      await database.write(
        `update ${queues} set turn = ${rankInSql("urgency", "tried", "endpoint")}, due_at = ${now}, claimed_by = null
         where visitor = ? and ${isUnknown}`,
        [visitor, ...values],
      );
    }
  }

  return {
    giveBackUnknown,
    async claim({ lanes, limit }: Capacity): Promise<QueueClaim[]> {
      if (clock.monotonic() < doubtfulUntil) await giveBackUnknown();
      try {
        return await take(lanes, Math.min(limit, CLAIMED_AT_ONCE));
      } catch (error) {
        // The server may still be at it, and claim after it is asked again.
        doubtfulUntil = clock.monotonic() + leaseMs;
        throw error;
      }
    },
  };
}
