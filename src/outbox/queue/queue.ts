import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, priorityOf } from "../../conversion/kinds.js";
import type { Verdict } from "../claim.js";
import { type Death, HELD } from "../dead-letters.js";
import type { TwoClocks } from "../lease.js";
import type { CancelOutcome } from "../outbox.js";
import { createChores } from "./chores.js";
import { createCircuits } from "./circuits.js";
import { createClaims } from "./claims.js";
import type { CountRow, Counts } from "./counts.js";
import type { Database, Statements } from "./database.js";
import { createDeadLetters } from "./dead-letters.js";
import { createEnqueue, type Incoming, type Stored } from "./enqueue.js";
import { createLeases, type QueueClaim, type UnderWay } from "./leases.js";
import { createPersonal } from "./personal.js";
import { createQueues } from "./queues.js";
import { CLAIMED } from "./ranks.js";
import {
  asciiJson,
  CANCELLED,
  DEAD,
  forgotten,
  inState,
  marks,
  NEW,
  QUEUED,
  SCHEDULED,
  seqsOf,
  sizeOf,
} from "./rows.js";
import { createServerClock } from "./server-clock.js";
import { createSettle, type Settlement } from "./settle.js";
import { createShedding } from "./shedding.js";
import { createBurial } from "./unreadable.js";
import { createUpkeep } from "./upkeep.js";

export type Queue = ReturnType<typeof createQueue>;

const PAYMENT = priorityOf("payment");
// Each running process can renew its leases by the new time, even if they are longer than ours.
const LEAST_PATIENCE_MS = 60_000;

/** The one queue, over any database: see README.md. */
export function createQueue(
  database: Database,
  options: {
    readonly leaseMs: number;
    readonly rememberMs: number;
    readonly counts: Counts;
    readonly clock: TwoClocks;
    /** The name under which it claims. Default: a new one. */
    readonly worker?: string;
    /** There may be something to claim. */
    readonly wake: () => void;
    /** An event has become a dead letter that is not counted yet. */
    readonly onDeath: (event: OutboxEvent, death: Death) => unknown;
    /** A click was queued, and its visitor has more than may wait. */
    readonly onCrowded: (event: OutboxEvent) => void;
  },
) {
  const { leaseMs, rememberMs, counts, clock, worker = randomUUID(), wake, onDeath, onCrowded } = options;
  const { words } = database;
  const { events, queues: table, now } = words;
  const underWay: UnderWay = new Map();
  const serverClock = createServerClock(clock, Math.max(leaseMs, LEAST_PATIENCE_MS));
  const enqueue = createEnqueue(database);
  const queues = createQueues(database);
  const chores = createChores(database, {
    ...{ worker, enqueue, serverClock, onCrowded, onReleased: counts.release.bind(counts) },
    isUnderWay: (seq) => underWay.has(seq),
  });
  const leases = createLeases(database, { worker, leaseMs, clock, underWay });
  const claims = createClaims(database, {
    ...{ worker, leaseMs, clock, serverClock, underWay, chores },
    buryUnreadable: createBurial(database, { queues }),
  });
  const settleIn = createSettle(database, { worker, rememberMs, queues });

  /** Resolves to whether each verdict had an effect. */
  async function settle(settled: readonly Settlement[]): Promise<boolean[]> {
    const repeated = new Set(settled.map(([claim]) => claim).filter(({ isAsked }) => isAsked));
    for (const [claim] of settled) claim.isAsked = true;
    const leaves = ([, { type }]: Settlement) => type === "delivered" || type === "dead";
    const leaving = settled.filter(leaves).map(([{ event }]) => event);
    const effects = await counts.removing(leaving, () =>
      database.transaction((tx) => settleIn(tx, settled, (claim) => repeated.has(claim))),
    );
    for (const [nth, [{ seq, event }, verdict]] of settled.entries()) {
      underWay.delete(seq);
      if (!effects[nth]?.hasLeft) continue;
      counts.add(event.destination, event.kind, -1, { bytes: words.isSerial ? -sizeOf(event) : 0 });
      if (verdict.type === "dead") onDeath(event, verdict);
    }
    return effects.map(({ isActedOn }) => isActedOn);
  }

  /** What hosts' transactions have committed goes before what is appended from now on. */
  async function placeNew(destinations: ReadonlySet<number>): Promise<void> {
    for (const destination of destinations) {
      const text = `select 1 as one from ${events} where destination = ? and ${inState(NEW)} limit 1`;
      if ((await database.rows(text, [destination])).length > 0) await chores.place(database, destination);
    }
  }

  /** Stores events of any destination, in one transaction. */
  async function append(tx: Statements, incoming: readonly Incoming[]): Promise<Stored[]> {
    const stored: Stored[] = [];
    for (const destination of new Set(incoming.map(({ event }) => event.destination))) {
      const own = incoming.flatMap((each, nth) => (each.event.destination === destination ? [nth] : []));
      const outcomes = await enqueue.enqueue(
        tx,
        own.map((nth) => incoming[nth] as Incoming),
      );
      for (const [position, nth] of own.entries()) stored[nth] = outcomes[position] as Stored;
    }
    return stored;
  }

  async function count(): Promise<CountRow[]> {
    await database.ready();
    const select = (states: string, by = "") =>
      `select destination, state, kind, reason, count(*) as number, min(at_ms) as at_ms, sum(size) as bytes
       from ${events}${by} where ${states} group by destination, state, kind, reason`;
    // Two parts: each is what one index has.
    const rows = await database.rows(
      `${select(`state = ${QUEUED}`, words.ofQueued)} union all ${select(`state in (${NEW}, ${SCHEDULED}, ${DEAD}) and state <> ${QUEUED}`)}`,
    );
    return rows.map((row) => {
      const state = Number(row.state);
      const kind = kindOfPriority(Number(row.kind));
      return {
        destination: Number(row.destination),
        name: state === DEAD ? row.reason : state === SCHEDULED ? "scheduled" : kind,
        number: Number(row.number),
        created_at: Number(row.at_ms),
        kind,
        bytes: Number(row.bytes),
      };
    });
  }

  /** Withdraws a scheduled payment, even if no claim has seen it yet. */
  async function cancel(id: string, destination: number): Promise<CancelOutcome> {
    await database.ready();
    const isIt = "destination = ? and id = ?";
    const values = [destination, id];
    const cancelled = await counts.during(() =>
      database.transaction(async (tx) => {
        await chores.placeOne(tx, values);
        return tx.write(
          `update ${events} set ${forgotten(CANCELLED, now, rememberMs)} where ${isIt} and ${inState(SCHEDULED)}`,
          values,
        );
      }),
    );
    counts.add(destination, "scheduled", -cancelled);
    const [row] = await database.rows(`select state from ${events} where ${isIt}`, values);
    if (!row) return "unknown";
    return Number(row.state) === CANCELLED ? "cancelled" : "sent";
  }

  /** When the event was reported first, in milliseconds since the epoch. */
  async function reportedAt(id: string, destination: number): Promise<number | undefined> {
    await database.ready();
    const text = `select created_at from ${events} where destination = ? and id = ?`;
    const [row] = await database.rows(text, [destination, id]);
    return row && Number(row.created_at);
  }

  const holding = {
    /** For how long the last lease lasts; `null`: no process has claimed an event. */
    async leasedForMs(): Promise<number | null> {
      await database.ready();
      const [row] = await database.rows(
        `select max(due_at) - ${now} as ms from ${table} where turn = ${CLAIMED} and due_at > ${now}`,
      );
      return row?.ms == null ? null : Number(row.ms);
    },
    /** Makes unconfirmed dead letters of the first payments that wait. Resolves to their number. */
    hold: (limit: number): Promise<number> =>
      database.transaction(async (tx) => {
        const death = asciiJson({ ...HELD, attempts: 0 });
        const rows = await tx.rows(
          `select seq, visitor from ${events} where state in (${NEW}, ${QUEUED}) and kind = ${PAYMENT} order by seq limit ${limit}`,
        );
        if (rows.length === 0) return 0;
        const locked = await queues.lock(
          tx,
          rows.map(({ visitor }) => visitor),
        );
        await tx.write(
          `update ${events} set state = ${DEAD}, at_ms = ${now}, reason = 'unconfirmed', death = ?, size = size + ${death.length}
           where seq in (${marks(rows)}) and state <= ${QUEUED}`,
          [death, ...seqsOf(rows)],
        );
        await queues.refresh(tx, locked);
        return rows.length;
      }),
  };

  return {
    ...createDeadLetters(database, { counts, rememberMs, chores, onRevived: wake }),
    ...createShedding(database, { enqueue, queues }),
    count,
    placeNew,
    append,
    /** For `Database.insertWithin`. */
    newRow: (event: OutboxEvent) => enqueue.newRow({ event, report: randomUUID() }),
    claim: claims.claim,
    claimIn: claims.claimIn,
    findAgain: leases.findAgain,
    underWay,
    settle,
    renew: leases.renew,
    release: (destination: number) => counts.during(() => chores.release(database, destination)),
    cancel,
    reportedAt,
    circuits: createCircuits(database, rememberMs),
    personal: createPersonal(database, { counts, rememberMs, queues }),
    holding,
    /** Of several clocks, none of which may be ahead. */
    ...createUpkeep(database, {
      queues,
      now: () => Math.min(clock.now(), serverClock.latest ?? Number.POSITIVE_INFINITY),
    }),
    /** Takes the database's time, so that one that is set ahead ends no lease. */
    tellTime: (now: number) => serverClock.tell(now, clock.monotonic()),
  };
}

export type { QueueClaim, Settlement, Verdict };
