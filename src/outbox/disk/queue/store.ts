import type { EventKind } from "../../../conversion/events.js";
import { byKind, LEAST_URGENT_FIRST } from "../../../conversion/kinds.js";
import { earliestOf } from "../../counts.js";
import { DEATH_REASONS } from "../../dead-letters.js";
import { clockOfAllThreads, type TwoClocks } from "../../lease.js";
import { createLogCleaner } from "../file/file.js";
import { type Database, type Problem, transactionsOf } from "../file/sqlite.js";
import { createAppends } from "./appends.js";
import { createClaims } from "./claims.js";
import { createPersonal } from "./personal.js";
import type { Dropped, Request, RequestOf, Result, Results, Snapshot } from "./requests.js";
import { type Saved, salvage, saveRows } from "./salvage.js";
import { createSettlements } from "./settlements.js";
import { createTables } from "./tables.js";
import { createUpkeep, type Locks } from "./upkeep.js";

// Chosen: a MiB is kept for what comes next. 4 MiB a round are given back before a host notices.
const FREE_PAGES_KEPT = 250;
const PAGES_GIVEN_BACK = 1_000;

export interface StoreOptions {
  readonly maxBytes: number;
  readonly maxDeadLetters: number;
  readonly rememberMs: number;
  readonly leaseMs: number;
}

export interface TransactionOutcome {
  readonly results: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  /** Ids of events that were set aside because their rows cannot be read. */
  readonly unreadable: readonly string[];
  readonly problems?: readonly Problem[];
  /** The log's bytes if a reader keeps it long, otherwise 0; absent if it was not looked at. */
  readonly logBytes?: number;
}

export type Store = ReturnType<typeof createStore>;

/** Runs one transaction at a time. If SQLite throws, nothing of it has happened. */
export function createStore(
  db: Database,
  owner: string,
  options: StoreOptions & {
    readonly clock?: TwoClocks;
    /** Default: whether other processes have ended is not known. */
    readonly locks?: Locks | undefined;
  },
) {
  const { leaseMs, clock = clockOfAllThreads, locks } = options;
  const tables = createTables(db, { ...options, monotonic: clock.monotonic });
  const { cache, ids, live, letters, scheduled, circuits } = tables;
  const upkeep = createUpkeep(cache, { owner, leaseMs, locks });
  const appends = createAppends(tables);
  const claims = createClaims(tables, upkeep);
  const settlements = createSettlements(tables, appends);
  const personal = createPersonal(tables);
  const log = createLogCleaner(db);
  const freePages = db.prepare("pragma freelist_count");
  const inTransaction = transactionsOf(db);

  const carryOut: {
    readonly [Type in Request["type"]]: (request: RequestOf<Type>, now: number) => Results[Type];
  } = {
    append: ({ event }, now) => appends.append(event, now),
    claim: ({ capacity }, now) => claims.claim(capacity, now),
    settle: settlements.settle,
    list: letters.list,
    sums: letters.sums,
    ids: letters.ids,
    retried: letters.retried,
    retry: (request, now) => request.letters.filter((letter) => settlements.retry(letter, now)).length,
    discard: ({ letter }) => letters.discard(letter),
    circuits: ({ destination }, now) => circuits.read(destination, now),
    "replace circuit": circuits.replace,
    cancel: ({ destination, id }) => scheduled.cancel(destination, id),
    page: personal.page,
    erase: personal.erase,
    hold: (_, now) => settlements.hold(now),
  };

  function runOne<Type extends Request["type"]>(request: RequestOf<Type>, now: number): Result {
    const { type }: { readonly type: Type } = request;
    return carryOut[type](request, now);
  }

  function transact(body: (now: number) => readonly Result[]): TransactionOutcome {
    try {
      return inTransaction(() => {
        const now = clock.now();
        cache.begin(now);
        upkeep.followClock(now);
        scheduled.release(now);
        const results = body(now);
        live.removeDeliveredIfDue();
        cache.end(now);
        return { results, snapshot: snapshot(now), ...cache.losses };
      });
    } catch (error) {
      cache.drop();
      throw error;
    }
  }

  function snapshot(now: number): Snapshot {
    const counts = cache.known.totals.destinations.map((each) => [each, countsOf(each)]);
    return {
      counts: Object.fromEntries(counts),
      nextReadyAt: earliestOf([claims.nextReadyAt(now), scheduled.nextAt]),
      leaseEpoch: upkeep.leaseEpoch,
    };
  }

  function countsOf(destination: number): Snapshot["counts"][string] {
    const { totals } = cache.known;
    const queued = (kind: EventKind) => ({
      queued: totals.rows(destination, kind),
      oldest: live.oldestOf(destination, kind),
    });
    const [rejected = 0, unconfirmed = 0, expired = 0] = DEATH_REASONS.map((reason) =>
      LEAST_URGENT_FIRST.reduce((sum, kind) => sum + totals.rows(destination, `${kind} ${reason}`), 0),
    );
    return {
      scheduled: scheduled.countOf(destination),
      dead: { rejected, unconfirmed, expired },
      byKind: byKind(queued),
    };
  }

  return {
    salvage: (lost: Database): Saved =>
      salvage(lost, (table, rows) => {
        let saved = 0;
        transact((now) => {
          saved = saveRows(tables, table, rows);
          cache.renew(now);
          return [];
        });
        return saved;
      }),
    run: (requests: readonly Request[]): TransactionOutcome =>
      transact((now) => requests.map((request) => runOne(request, now))),
    /** Called about twice a second. */
    lookForKilled: (): TransactionOutcome =>
      transact((now) => {
        upkeep.beat();
        upkeep.takeOverFromKilled(now);
        return [];
      }),
    /** Renews the lease, takes over, deletes, forgets. Called several times in a lease. */
    lookAfter(): TransactionOutcome {
      try {
        const outcome = transact((now) => {
          upkeep.beat();
          upkeep.takeOverFromSilent(now);
          live.removeDelivered();
          ids.forgetOld();
          if (freePages.get().freelist_count > FREE_PAGES_KEPT) {
            db.exec(`pragma incremental_vacuum(${PAGES_GIVEN_BACK})`);
          }
          return [];
        });
        log.clean(cache.known.totals.isEmpty);
        return { ...outcome, logBytes: log.bytesHeldByReader() };
      } catch (error) {
        upkeep.forgetWhatWasSeen();
        throw error;
      }
    },
  };
}
