import { randomUUID } from "node:crypto";
import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, priorityOf } from "../../conversion/kinds.js";
import { type DeathReason, HELD } from "../dead-letters.js";
import type { CancelOutcome } from "../outbox.js";
import { type Changing, createChores } from "./chores.js";
import { createClaims } from "./claims.js";
import { repeatWhereLost } from "./connections.js";
import { type CountRow, type Counts, changeOf, storedChange } from "./counts.js";
import type { Database, Scope, Statements } from "./database.js";
import { createDeadLetters } from "./dead-letters.js";
import { createEnqueue, type Enqueued, type Incoming } from "./enqueue.js";
import { createLeases, createServerClock, type Settlement, type TwoClocks, type UnderWay } from "./leases.js";
import { createPersonal } from "./personal.js";
import { createQueues } from "./queues.js";
import { CLAIMED } from "./ranks.js";
import { DEAD, DONE, eventOf, inState, NEW, QUEUED, SCHEDULED, seqsOf, storedSizeOf } from "./rows.js";
import { createEnds, createSettle, deathSizeOf } from "./settle.js";
import { createShedding } from "./shedding.js";
import { createUnanswered } from "./unanswered.js";
import { createUpkeep } from "./upkeep.js";

export type Queue = ReturnType<typeof createQueue>;

const UNREADABLE = { type: "dead", reason: "rejected", code: "ERR_UNREADABLE", attempts: 0 } as const;
const PAYMENT = priorityOf("payment");
// A process whose lease is at most three times that renews it meanwhile by the new time.
const LEAST_PATIENCE_MS = 60_000;

/** The one queue, over any database: see README.md. */
export function createQueue(
  database: Database,
  options: {
    readonly leaseMs: number;
    readonly rememberMs: number;
    readonly counts: Counts;
    /** Whose events this is about. What is appended may be any client id's. */
    readonly scope: Scope;
    readonly clock: TwoClocks;
    /** The name under which it claims. Default: a new one. */
    readonly worker?: string;
    /** There may be something to claim. */
    readonly wake: () => void;
    readonly maxDeadLetters: number;
    readonly maxDeadLetterBytes: number;
    /** A visitor's click was removed for newer ones, or a dead letter. */
    readonly onDropped: (event: OutboxEvent, reason: "visitor-full" | "dead-letters-full") => void;
  },
) {
  const { leaseMs, rememberMs, counts, scope, clock, worker = randomUUID() } = options;
  const { wake, onDropped } = options;
  const { words } = database;
  const { events, queues: table, now } = words;
  const underWay: UnderWay = new Map();
  const patienceMs = Math.max(leaseMs, LEAST_PATIENCE_MS);
  const serverClock = createServerClock(clock, patienceMs);
  const queues = createQueues(database);
  const ends = createEnds(database, rememberMs);
  const { shedClicks, shedFor } = createShedding(database, { scope, queues });
  const enqueue = createEnqueue(database, shedClicks);
  const changing: Changing = async (work, effect = () => []) => {
    const done = await counts.during(work, (result) => [
      ...effect(result),
      ...result.shed.map((event) => changeOf(event, "queued", -1, { bytes: -storedSizeOf(event) })),
    ]);
    for (const event of done.shed) onDropped(event, "visitor-full");
    return done;
  };
  const chores = createChores(database, { worker, scope, enqueue, serverClock, underWay, changing });
  const leases = createLeases(database, { worker, leaseMs, clock, underWay });
  const claim = createClaims(database, {
    ...{ worker, scope, leaseMs, clock, serverClock, underWay, chores },
    giveUp: (unreadable) => settle(unreadable.map((claim) => [claim, UNREADABLE])),
  });
  const { deadLetters, evictOldest, evictFor } = createDeadLetters(database, {
    ...{ counts, scope, ends, chores, onRevived: wake },
    ...{ max: options.maxDeadLetters, maxBytes: options.maxDeadLetterBytes },
    onEvicted: (event) => onDropped(event, "dead-letters-full"),
  });
  // By the time that the clock should show, if known. This process goes on with what it has under way.
  const isHeld = () =>
    `(q.due_at > ${serverClock.leaseEnd(now)} or q.head in (${[0, ...underWay.keys()].join()}))`;
  const settleIn = createSettle(database, { worker, ends, queues, underWay });

  /** Resolves to whether each verdict had an effect. */
  async function settle(settled: readonly Settlement[]): Promise<boolean[]> {
    const effects = await counts.during(
      () => database.transaction((tx) => settleIn(tx, settled)),
      (done) => settled.flatMap((settlement, nth) => (done[nth] === "done" ? leaving(settlement) : [])),
    );
    // What was released may have been claimed again meanwhile.
    for (const [claim] of settled) if (underWay.get(claim.seq) === claim) underWay.delete(claim.seq);
    for (const [nth, [{ size }, verdict]] of settled.entries())
      if (verdict.type === "dead" && effects[nth] === "done") await evictFor(deathSizeOf(size, verdict));
    return effects.map((effect) => effect !== "none");
  }

  function leaving([{ event, size }, verdict]: Settlement): CountRow[] {
    const gone = changeOf(event, "queued", -1, { bytes: -size });
    if (verdict.type === "delivered") return [gone];
    if (verdict.type !== "dead") return [];
    return [gone, changeOf(event, verdict.reason, 1, { bytes: deathSizeOf(size, verdict) })];
  }

  /**
   * Stores events in one transaction, which waits for no other one for long. Repeats it if its answer
   * was lost. Resolves to what became of each.
   */
  async function append(incoming: readonly Incoming[]): Promise<Enqueued["stored"]> {
    const store = () => database.transaction((tx) => enqueue.enqueue(tx, incoming), { isPatient: false });
    const changeBy = ({ event }: Incoming) => storedChange(event, clock.now(), storedSizeOf(event));
    const { stored } = await changing(
      () => repeatWhereLost(store, database.isLost),
      (done) => incoming.filter((_, nth) => done.stored[nth] === "queued").map(changeBy),
    );
    return stored;
  }

  /**
   * Places what hosts' transactions have committed, before anything new is appended. Resolves to
   * whether another process is still placing an event that one of these must follow.
   */
  async function placeNew(coming: readonly OutboxEvent[] = []): Promise<boolean> {
    const text = `select 1 as one from ${events} where ${scope.condition} and ${inState(NEW)} limit 1`;
    if ((await database.rows(text)).length === 0) return false;
    await chores.place();
    return chores.areBehind(coming);
  }

  /** Queues all scheduled payments that are due, whether or not anything may be sent. */
  async function queueAllDue(): Promise<void> {
    while (counts.scheduled() > 0 && (await chores.queueDue()) > 0) wake();
  }

  /** Those that are known already: a report of one is a duplicate. */
  async function knownOf(coming: readonly OutboxEvent[]): Promise<ReadonlySet<OutboxEvent>> {
    const nameOf = ({ destination, id }: Pick<OutboxEvent, "destination" | "id">) => `${destination} ${id}`;
    const known = new Set((await enqueue.find(database, coming)).map(nameOf));
    return new Set(coming.filter((event) => known.has(nameOf(event))));
  }

  async function count(): Promise<CountRow[]> {
    const select = (states: string, by = "") =>
      `select destination, state, kind, reason, count(*) as number,
         min(case when state = ${NEW} then created_at else at_ms end) as at_ms, sum(size) as bytes
       from ${events}${by} where ${states} group by destination, state, kind, reason`;
    type Numbers = Record<"destination" | "state" | "kind" | "number" | "at_ms" | "bytes", number>;
    // Two parts: each is what one index has.
    const rows = await database.rows<Numbers & { reason: DeathReason }>(
      `${select(`state = ${QUEUED}`, words.ofQueued)} union all ${select(`state in (${NEW}, ${SCHEDULED}, ${DEAD}) and state <> ${QUEUED}`)}`,
    );
    return rows.map(({ state, kind, reason, at_ms: at, ...row }) => {
      const name = state === DEAD ? reason : state === SCHEDULED ? "scheduled" : "queued";
      return { ...row, kind: kindOfPriority(kind), name, at };
    });
  }

  /** Withdraws a scheduled payment, even if it has no place yet. */
  async function cancel(id: string): Promise<CancelOutcome> {
    const withdraw = async (tx: Statements): Promise<{ outcome: CancelOutcome; change?: CountRow }> => {
      const known = await tx.rows(`select seq from ${events} where ${scope.condition} and id = ?`, [id]);
      if (known.length === 0) return { outcome: "unknown" };
      // Waits while a process gives the payment its place.
      const [row] = await queues.lockEvents(tx, seqsOf(known));
      if (row?.state === DONE && row.reason === "cancelled") return { outcome: "cancelled" };
      const isNew = row?.state === NEW && notBeforeOf(eventOf(row)) !== undefined;
      if (!row || !(isNew || row.state === SCHEDULED)) return { outcome: "sent" };
      await ends.forget(tx, [row], "'cancelled'");
      const change = changeOf(eventOf(row, {}), isNew ? "queued" : "scheduled", -1);
      return { outcome: "cancelled", change };
    };
    const { outcome } = await counts.during(
      () => repeatWhereLost(() => database.transaction(withdraw), database.isLost),
      ({ change }) => (change ? [change] : []),
    );
    return outcome;
  }

  /** For how long the last lease lasts; `null`: no process has claimed an event. */
  async function leasedForMs(): Promise<number | null> {
    const [row] = await database.rows(
      `select max(due_at) - ${now} as ms from ${table}
       where ${scope.condition} and turn = ${CLAIMED} and due_at > ${now}`,
    );
    return row?.ms ?? null;
  }

  /** Turns the first queued payments into unconfirmed dead letters. Resolves to their number. */
  const hold = (limit: number): Promise<number> =>
    database.transaction(async (tx) => {
      const rows = await tx.rows(
        `select seq, id, visitor from ${events}
         where ${scope.condition} and state = ${QUEUED} and kind = ${PAYMENT} order by seq limit ${limit}`,
      );
      if (rows.length === 0) return 0;
      const locked = await queues.lock(tx, rows);
      await ends.bury(tx, rows, HELD);
      await queues.refresh(tx, locked);
      return rows.length;
    });

  return {
    deadLetters,
    evictOldest,
    shedFor,
    count,
    placeNew,
    append,
    /** For `Database.insertWithin`. */
    newRow: (event: OutboxEvent) => enqueue.newRow({ event, report: randomUUID() }),
    knownOf,
    claim,
    giveBackUnknown: chores.giveBackUnknown,
    findAgain: leases.findAgain,
    underWay,
    settle,
    renew: leases.renew,
    queueAllDue,
    cancel,
    unanswered: createUnanswered(database, { worker, scope, rememberMs }),
    personal: createPersonal(database, isHeld, { counts, scope, ends, queues }),
    leasedForMs,
    hold,
    /** It trusts the earliest of the clocks: one that is ahead would forget ids early. */
    ...createUpkeep(database, {
      ...{ queues, patienceMs },
      now: () => Math.min(clock.now(), serverClock.latest() ?? Number.POSITIVE_INFINITY),
    }),
    /** Takes the database's time, so that one that is set ahead ends no lease. */
    tellTime: (now: number) => serverClock.tell(now, clock.monotonic()),
  };
}
