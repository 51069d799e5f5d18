import type { EventKind } from "../../events.js";
import { type Endpoint, endpointOf } from "../../service/endpoints.js";
import type { DeathReason } from "../dead-letters.js";
import { clockOfAllThreads, type TwoClocks } from "../lease.js";
import type { Capacity } from "../outbox.js";
import { SHARE_OF_DEAD_LETTERS, SHEDDING_ORDER } from "../shedding.js";
import { createCircuits } from "./circuits.js";
import { createClaimOwners } from "./claim-owners.js";
import { createClaims } from "./claims.js";
import { createDeadLetters } from "./dead-letters.js";
import { createDelivered } from "./delivered.js";
import { createDestinations } from "./destinations.js";
import { createHandOver } from "./hand-over.js";
import { createHold } from "./hold.js";
import { createKnownIds } from "./known-ids.js";
import { createLetterRows } from "./letter-rows.js";
import { createLiveEvents } from "./live-events.js";
import { transactionsOf } from "./lock.js";
import { createLogCleaner } from "./log-cleaner.js";
import { createOldest } from "./oldest.js";
import type { OwnerLocks } from "./owner-locks.js";
import type { DestinationCounts, Dropped, Request, Result, Snapshot, ThreadOptions } from "./protocol.js";
import { createRemovals } from "./removals.js";
import { createSaving, type LostRow, type LostTable } from "./saving.js";
import { createSettlements } from "./settlements.js";
import type { Database } from "./sqlite.js";
import { createState } from "./state.js";
import { createSteadyClock } from "./steady-clock.js";
import { createTotals } from "./totals.js";
import { createUnreadable } from "./unreadable.js";
import { createUpkeep } from "./upkeep.js";
import { createVisitorQueues } from "./visitor-queues.js";

// Shares of `maxBytes`; the first includes dead letters. The rest is overhead, and the space that SQLite needs to delete something.
const SHARE_OF_EVENTS = 0.7;
const SHARE_OF_DELIVERED = 0.2;
const SHARE_OF_REMOVALS = 0.02;
// A MiB is kept for what comes next; 4 MiB a round is a transaction too short for a host to notice.
const FREE_PAGES_KEPT = 250;
const PAGES_GIVEN_BACK = 1_000;

type Append = Request & { readonly type: "append" };

export interface TransactionOutcome {
  readonly results: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  /** The ids of events that were set aside because their rows cannot be read. */
  readonly unreadable: readonly string[];
  /** The bytes of SQLite's log if a reader keeps it long, else 0; absent if the log was not looked at. */
  readonly logBytes?: number;
}

export type Store = ReturnType<typeof createStore>;

/** An outbox's file, one transaction at a time. Throws what SQLite throws; then nothing of the transaction happened. */
export function createStore(
  db: Database,
  owner: string,
  options: Pick<ThreadOptions, "maxBytes" | "maxDeadLetters" | "rememberMs" | "leaseMs"> & {
    readonly clock?: TwoClocks;
    /** Default: whether other processes have ended is not known. */
    readonly locks?: Pick<OwnerLocks, "hasEnded" | "removeEnded"> | undefined;
  },
) {
  const { maxBytes, maxDeadLetters, rememberMs, leaseMs, clock = clockOfAllThreads, locks } = options;
  let dropped: Dropped[] = [];
  let unreadableIds: string[] = [];
  const drop = (each: Dropped) => dropped.push(each);
  const destinations = createDestinations(db);
  const totals = createTotals();
  const ids = createKnownIds(db, totals);
  const steady = createSteadyClock(clock.monotonic);
  const delivered = createDelivered(db, {
    ...{ totals, ids, steady },
    ...{ maxBytes: maxBytes * SHARE_OF_DELIVERED, rememberMs },
  });
  const owners = createClaimOwners(db, leaseMs);
  const removals = createRemovals(db, { delivered, maxBytes: maxBytes * SHARE_OF_REMOVALS });
  const state = createState(db, { totals, owners, removals, steady });
  const queues = createVisitorQueues(db, { state, owners });
  const oldest = createOldest(db, { totals, owners, removals, queues });
  const onFound = (id: string) => unreadableIds.push(id);
  const unreadable = createUnreadable(db, { totals, owners, queues, oldest, onFound });
  const common = { state, destinations, totals, ids, owners, removals, queues, oldest, unreadable, drop };
  const letters = createLetterRows(db, {
    ...common,
    delivered,
    max: maxDeadLetters,
    maxBytes: maxBytes * SHARE_OF_EVENTS * SHARE_OF_DEAD_LETTERS,
  });
  const live = createLiveEvents(db, { ...common, letters, maxBytes: maxBytes * SHARE_OF_EVENTS });
  const claims = createClaims(db, { ...common, owner });
  const dead = createDeadLetters(db, { destinations, delivered, live, letters });
  const settle = createSettlements({ ...common, live, claims, delivered, dead });
  const save = createSaving(db, { ...common, delivered });
  const handOver = createHandOver(db, { ...common, delivered });
  const circuits = createCircuits(db, destinations);
  const hold = createHold(db, { ...common, live, dead });
  const upkeep = createUpkeep(db, { owners, owner, leaseMs, locks });
  const freePages = db.prepare("pragma freelist_count");
  const log = createLogCleaner(db);
  const inTransaction = transactionsOf(db);

  /** Runs the requests in their order. A trailing claim may take events appended in this batch, which saves a write. */
  function runAll(requests: readonly Request[], now: number): Result[] {
    const last = requests.at(-1);
    if (last?.type !== "claim") return requests.map((request) => runOne(request, now));
    const isAppend = (request: Request): request is Append => request.type === "append";
    const others =
      requests.findLastIndex((request, nth) => nth < requests.length - 1 && !isAppend(request)) + 1;
    const results = requests.slice(0, others).map((request) => runOne(request, now));
    const appends = requests.slice(others, -1).filter(isAppend);
    return [...results, ...claimWith(appends, last.capacity, now)];
  }

  function claimWith(appends: readonly Append[], capacity: Capacity, now: number): Result[] {
    const coming = new Map<Endpoint, number>();
    for (const { event } of appends) {
      const endpoint = endpointOf(event);
      if (event.destination === capacity.destination) coming.set(endpoint, (coming.get(endpoint) ?? 0) + 1);
    }
    const heartbeat = upkeep.renewLease();
    const claiming = claims.begin(capacity, { heartbeat, leaseEpoch: upkeep.leaseEpoch.number }, coming, now);
    const stored = appends.map(({ event }) => {
      const lane = claiming.laneFor(event);
      if (!lane) return live.append(event, now);
      return live.append(event, now, (direct) => claiming.add(event, lane, direct));
    });
    return [...stored, claiming.end()];
  }

  function runOne(request: Request, now: number): Result {
    switch (request.type) {
      case "append":
        return live.append(request.event, now);
      case "claim":
        return claimWith([], request.capacity, now)[0] as Result;
      case "settle":
        return settle(request, now);
      case "list":
        return dead.list(request.query, request.destination);
      case "sums":
        return dead.sums(request.filter, request.destination);
      case "ids":
        return dead.ids(request.filter, request.destination);
      case "retried":
        return dead.retried(request.filter, request.destination);
      case "retry":
        return request.letters.filter((letter) => dead.retry(letter, now)).length;
      case "discard":
        return dead.discard(request.letter);
      case "circuits":
        return circuits.read(request.destination, now);
      case "replace circuit":
        return circuits.replace(request);
      case "hold": {
        const held = hold(now);
        forget();
        return held;
      }
      case "hand over": {
        const result = handOver(request);
        forget();
        return result;
      }
    }
  }

  function transact(body: (now: number) => Result[]): TransactionOutcome {
    dropped = [];
    unreadableIds = [];
    try {
      return inTransaction(() => {
        const now = clock.now();
        if (state.load()) forget();
        steady.follow(now);
        upkeep.followClock(now, state.changedAt);
        const results = body(now);
        if (removals.areDue || owners.isEmpty) removals.run();
        state.save(now);
        return { results, snapshot: snapshot(now), dropped, unreadable: unreadableIds };
      });
    } catch (error) {
      state.forget();
      destinations.forget();
      throw error;
    }
  }

  function forget(): void {
    queues.forget();
    oldest.forget();
    claims.forget();
  }

  function snapshot(now: number): Snapshot {
    const counts = totals.destinations.map((each) => [destinations.nameOf(each), countsOf(each)]);
    return {
      counts: Object.fromEntries(counts),
      nextReadyAt: claims.nextReadyAt(now),
      leaseEpoch: upkeep.leaseEpoch,
      raises: state.raises,
      waiting: queues.waiting,
    };
  }

  function countsOf(destination: number): DestinationCounts {
    const queued = (kind: EventKind) => ({
      queued: totals.rows(destination, kind),
      oldest: oldest.of(destination, kind),
    });
    const died = (reason: DeathReason) =>
      SHEDDING_ORDER.reduce((sum, kind) => sum + totals.rows(destination, `${kind} ${reason}`), 0);
    return {
      dead: { rejected: died("rejected"), unconfirmed: died("unconfirmed"), expired: died("expired") },
      byKind: { click: queued("click"), registration: queued("registration"), payment: queued("payment") },
    };
  }

  return {
    /** Stores rows of a lost file. Returns how many were not known yet. */
    save(table: LostTable, rows: readonly LostRow[], names: ReadonlyMap<number, string>): number {
      let saved = 0;
      transact(() => {
        saved = save(table, rows, names);
        forget();
        return [];
      });
      return saved;
    },
    run: (requests: readonly Request[]): TransactionOutcome => transact((now) => runAll(requests, now)),
    /** Takes over from killed processes. To be called about twice a second. */
    lookForKilled: (): TransactionOutcome =>
      transact((now) => {
        upkeep.beat();
        if (upkeep.takeOverFromKilled(now)) forget();
        return [];
      }),
    /** Renews the lease, takes over, deletes, forgets. To be called several times a lease. */
    lookAfter(): TransactionOutcome {
      try {
        const outcome = transact((now) => {
          upkeep.beat();
          upkeep.takeOverFromSilent(now);
          removals.run();
          forget();
          delivered.forgetSome();
          if (freePages.get().freelist_count > FREE_PAGES_KEPT) {
            db.exec(`pragma incremental_vacuum(${PAGES_GIVEN_BACK})`);
          }
          return [];
        });
        log.clean(
          SHEDDING_ORDER.every((kind) => totals.destinations.every((each) => totals.rows(each, kind) === 0)),
        );
        return { ...outcome, logBytes: log.bytesHeldByReader() };
      } catch (error) {
        upkeep.forgetWhatWasSeen();
        throw error;
      }
    },
  };
}
