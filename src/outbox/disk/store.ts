import type { EventKind } from "../../events.js";
import { byKind, LEAST_URGENT_FIRST } from "../../kinds.js";
import { DEATH_REASONS } from "../dead-letters.js";
import { clockOfAllThreads, type TwoClocks } from "../lease.js";
import { SHARE_OF_DEAD_LETTERS } from "../shedding.js";
import { createAppends } from "./appends.js";
import { createCache } from "./cache.js";
import { createCircuits } from "./circuits.js";
import { createClaims } from "./claims.js";
import { earlier } from "./counts.js";
import { createKnownIds } from "./known-ids.js";
import { createLetters } from "./letters.js";
import { createLiveEvents } from "./live-events.js";
import { transactionsOf } from "./lock.js";
import { createLogCleaner } from "./log-cleaner.js";
import { createOldest } from "./oldest.js";
import type { OwnerLocks } from "./owner-locks.js";
import { createPersonal } from "./personal.js";
import type {
  DestinationCounts,
  Dropped,
  Problem,
  Request,
  Result,
  Snapshot,
  ThreadOptions,
} from "./protocol.js";
import { createQueues } from "./queues.js";
import { createSaving, type LostRow, type LostTable } from "./saving.js";
import { createScheduled } from "./scheduled.js";
import { createSettlements } from "./settlements.js";
import type { Database } from "./sqlite.js";
import { createUpkeep } from "./upkeep.js";

// Shares of `maxBytes`; the first includes dead letters. The rest is overhead, and the space that SQLite needs to delete something.
const SHARE_OF_EVENTS = 0.7;
const SHARE_OF_DELIVERED = 0.2;
// A MiB is kept for what comes next; 4 MiB a round is a transaction too short for a host to notice.
const FREE_PAGES_KEPT = 250;
const PAGES_GIVEN_BACK = 1_000;

export interface TransactionOutcome {
  readonly results: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  /** The ids of events that were set aside because their rows cannot be read. */
  readonly unreadable: readonly string[];
  /** What else is to be reported. */
  readonly problems?: readonly Problem[];
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
  let unreadable: string[] = [];
  const cache = createCache(db, clock.monotonic);
  const ids = createKnownIds(db, cache, { maxBytes: maxBytes * SHARE_OF_DELIVERED, rememberMs });
  const queues = createQueues(db, cache);
  const upkeep = createUpkeep(db, cache, { owner, leaseMs, locks });
  const drop = (each: Dropped) => void dropped.push(each);
  const onUnreadable = (id: string) => void unreadable.push(id);
  const letters = createLetters(db, {
    ...{ cache, ids, drop, onUnreadable, max: maxDeadLetters },
    maxBytes: maxBytes * SHARE_OF_EVENTS * SHARE_OF_DEAD_LETTERS,
  });
  const oldest = createOldest(db, cache, queues);
  const live = createLiveEvents(db, { cache, ids, queues, oldest, onUnreadable, maxFileBytes: maxBytes });
  const events = { cache, ids, queues, letters, live, drop, onUnreadable };
  const scheduled = createScheduled(db, events);
  const personal = createPersonal(db, { ...events, scheduled });
  const appends = createAppends(db, { ...events, scheduled, maxBytes: maxBytes * SHARE_OF_EVENTS });
  const claims = createClaims(db, { ...events, upkeep });
  const settlements = createSettlements(db, { ...events, appends, claims, scheduled });
  const saveRows = createSaving({ ...events, scheduled });
  const circuits = createCircuits(db);
  const log = createLogCleaner(db);
  const freePages = db.prepare("pragma freelist_count");
  const inTransaction = transactionsOf(db);

  function runOne(request: Request, now: number): Result {
    switch (request.type) {
      case "append":
        return appends.append(request.event, now);
      case "claim":
        return claims.claim(request.capacity, now);
      case "settle":
        return settlements.settle(request, now);
      case "list":
        return letters.list(request.query, request.destination);
      case "sums":
        return letters.sums(request.filter, request.destination);
      case "ids":
        return letters.ids(request.filter, request.destination);
      case "retried":
        return letters.retried(request.filter, request.destination);
      case "retry":
        return request.letters.filter((letter) => settlements.retry(letter, now)).length;
      case "discard":
        return letters.discard(request.letter);
      case "circuits":
        return circuits.read(request.destination, now);
      case "replace circuit":
        return circuits.replace(request);
      case "cancel":
        return scheduled.cancel(request.destination, request.id);
      case "page":
        return personal.page(request);
      case "erase":
        return personal.erase(request, now);
      case "hold":
        return settlements.hold(now);
    }
  }

  function transact(body: (now: number) => readonly Result[]): TransactionOutcome {
    dropped = [];
    unreadable = [];
    try {
      return inTransaction(() => {
        const now = clock.now();
        cache.begin(now);
        upkeep.followClock(now);
        scheduled.release(now);
        const results = body(now);
        live.removeDeliveredIfDue();
        cache.end(now);
        return { results, snapshot: snapshot(now), dropped, unreadable };
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
      nextReadyAt: earlier(claims.nextReadyAt(now), scheduled.nextAt),
      leaseEpoch: upkeep.leaseEpoch,
      hasChanged: queues.notes.haveChanged,
    };
  }

  function countsOf(destination: number): DestinationCounts {
    const { totals } = cache.known;
    const queued = (kind: EventKind) => ({
      queued: totals.rows(destination, kind),
      oldest: oldest.of(destination, kind),
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
    /** Stores rows of a lost file. Returns how many were not known yet. */
    save(table: LostTable, rows: readonly LostRow[]): number {
      let saved = 0;
      transact((now) => {
        saved = saveRows(table, rows);
        cache.renew(now);
        return [];
      });
      return saved;
    },
    run: (requests: readonly Request[]): TransactionOutcome =>
      transact((now) => requests.map((request) => runOne(request, now))),
    /** Takes over from killed processes. To be called about twice a second. */
    lookForKilled: (): TransactionOutcome =>
      transact((now) => {
        upkeep.beat();
        upkeep.takeOverFromKilled(now);
        return [];
      }),
    /** Renews the lease, takes over, deletes, forgets. To be called several times a lease. */
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
