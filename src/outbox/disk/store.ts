import { createDeadLetters } from "./dead-letters.js";
import { createDelivered } from "./delivered.js";
import { createKnownIds } from "./known-ids.js";
import { createLines } from "./lines.js";
import { createLiveEvents } from "./live-events.js";
import { inTransaction } from "./lock.js";
import type { Dropped, Request, Result, Snapshot, ThreadOptions } from "./protocol.js";
import type { Database } from "./sqlite.js";
import { createTotals } from "./totals.js";
import { createUpkeep } from "./upkeep.js";

// Of `maxBytes`. The rest is for what surrounds them, and for the space that SQLite needs to delete something.
const SHARE_OF_EVENTS = 0.7;
const SHARE_OF_DELIVERED = 0.2;
const BYTES_OF_DELIVERED = 120;
// A MiB is kept for what comes next; 4 MiB a round is a transaction too short for a host to notice.
const FREE_PAGES_KEPT = 250;
const PAGES_GIVEN_BACK = 1_000;

export interface Outcome {
  readonly results: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
}

export type Store = ReturnType<typeof createStore>;

/** An outbox's file, one transaction at a time. Throws what SQLite throws; then nothing of the transaction happened. */
export function createStore(
  db: Database,
  owner: string,
  options: Pick<ThreadOptions, "maxBytes" | "maxDeadLetters" | "rememberMs" | "leaseMs"> & {
    readonly time?: () => number;
  },
) {
  const { maxBytes, maxDeadLetters, rememberMs, leaseMs, time = () => Date.now() } = options;
  let dropped: Dropped[] = [];
  const drop = (each: Dropped) => dropped.push(each);
  const totals = createTotals(db);
  const ids = createKnownIds(db, totals);
  const lines = createLines(db);
  const live = createLiveEvents(db, {
    totals,
    ids,
    lines,
    owner,
    maxBytes: maxBytes * SHARE_OF_EVENTS,
    drop,
  });
  const maxDelivered = Math.floor((maxBytes * SHARE_OF_DELIVERED) / BYTES_OF_DELIVERED);
  const delivered = createDelivered(db, { totals, ids, max: maxDelivered, rememberMs });
  const dead = createDeadLetters(db, { totals, delivered, live, max: maxDeadLetters, drop });
  const upkeep = createUpkeep(db, { owner, leaseMs });
  const changes = db.prepare("select total_changes() as number");
  const freePages = db.prepare("pragma freelist_count");

  function answer(request: Request, now: number): Result {
    switch (request.type) {
      case "append":
        return live.append(request.event, now);
      case "claim":
        return live.claim(request.capacity, upkeep.showLife(), now, upkeep.life.number);
      case "settle":
        return settle(request, now);
      case "list":
        return dead.list(request.limit);
      case "dead ids":
        return dead.ids();
      case "retry":
        return request.ids.filter((id) => dead.retry(id, now)).length;
      case "discard": {
        const taken = dead.take(request.id);
        if (taken) delivered.add(request.id, now);
        return taken;
      }
    }
  }

  function settle({ claimed, verdict }: Extract<Request, { type: "settle" }>, now: number): undefined {
    const { id } = claimed;
    switch (verdict.type) {
      case "delivered":
        // True whichever process says so: also where another has taken the event over meanwhile and given it up as
        // unconfirmed, and where the file was begun anew and knows nothing of it.
        if (live.remove(claimed, now) || dead.take(id) || ids.learn(id)) delivered.add(id, now);
        break;
      case "dead": {
        const row = live.removeOwn(claimed, now);
        if (row) dead.keep(row, verdict, now);
        break;
      }
      case "retry":
        live.rest(claimed, verdict.history, now + verdict.inMs);
        break;
      case "release":
        if (!live.release(claimed, now)) dead.retryInterrupted(id, now);
    }
    return undefined;
  }

  function transact(body: (now: number) => Result[]): Outcome {
    dropped = [];
    return inTransaction(db, () => {
      const now = time();
      const before = changes.get().number;
      totals.load();
      upkeep.followClock(now);
      const results = body(now);
      totals.save();
      if (changes.get().number !== before) upkeep.noteTime(now);
      return { results, snapshot: snapshot(now), dropped };
    });
  }

  function snapshot(now: number): Snapshot {
    return {
      queued: totals.rows("click") + totals.rows("registration") + totals.rows("payment"),
      dead: {
        rejected: totals.rows("rejected"),
        unconfirmed: totals.rows("unconfirmed"),
        expired: totals.rows("expired"),
      },
      oldest: live.oldest(),
      nextReadyAt: live.nextReadyAt(now),
      life: upkeep.life,
    };
  }

  return {
    run: (requests: readonly Request[]): Outcome =>
      transact((now) => requests.map((request) => answer(request, now))),
    /** What has to be done now and then, whether or not anything is asked. */
    lookAfter(): Outcome {
      try {
        return transact((now) => {
          upkeep.beat();
          upkeep.takeOverFromEnded(now);
          delivered.forgetSome(now);
          if (freePages.get().freelist_count > FREE_PAGES_KEPT) {
            db.exec(`pragma incremental_vacuum(${PAGES_GIVEN_BACK})`);
          }
          return [];
        });
      } catch (error) {
        upkeep.forgetWhatWasSeen();
        throw error;
      }
    },
  };
}
