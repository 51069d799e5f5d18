import type { OutboxEvent } from "../../src/conversion/events.js";
import type { Outbox } from "../../src/outbox/outbox.js";
import type { Database } from "../../src/outbox/queue/database.js";
import type { SqlOutboxOptions } from "../../src/outbox/queue/options.js";
import type { SqlOutbox } from "../../src/outbox/queue/queue-outbox.js";
import { createQueues } from "../../src/outbox/queue/queues.js";
import { createUpkeep } from "../../src/outbox/queue/upkeep.js";
import { type Clock, systemClock } from "../../src/shared/clock.js";
import { FakeClock } from "./fake-clock.js";
import type { OwnServer } from "./own-server.js";

/** A host's open transaction. */
export interface HostTransaction {
  /** As a report takes it. */
  readonly transaction: object;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
  run(text: string): Promise<any[]>;
  end(how: "commit" | "rollback"): Promise<void>;
}

/** Reports these in a transaction that commits. */
export async function reportIn(
  host: HostTransaction,
  outbox: Outbox,
  ...events: OutboxEvent[]
): Promise<void> {
  for (const event of events) await outbox.add(event, host);
  await host.end("commit");
}

/** A database of a test's own, of either kind. */
// biome-ignore lint/suspicious/noExplicitAny: a test that is for either kind names no pool's type.
export interface SqlDatabase<Pool = any, Created = SqlOutbox, Options = TestOptions<Pool>> {
  /** `undefined`: other tests use it too. */
  readonly own: OwnServer | undefined;
  /** A new outbox in tables of its own. It is closed at the end of the test. */
  create(options?: Options, clock?: Clock): Promise<Created>;
  /** One more over the same tables. */
  reopen(options?: Options, clock?: Clock): Promise<Created>;
  /**
   * Statements of the test's own; `$t.` stands before a table of the newest outbox, `$queued` for
   * its queued events with their visitors' queues.
   */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
  sql(text: string, values?: unknown[]): Promise<any[]>;
  /** @param isolation default: the database's own. */
  begin(isolation?: string, pool?: Pool): Promise<HostTransaction>;
  /** Names the newest outbox's table of events. */
  eventsTable(): string;
  /** SQL: a `select` of the queues of the newest outbox by their key, up to its conditions. */
  readonly lockQueue: string;
  /** Has all that waits be another process's until a moment. */
  claimAll(until: number): Promise<unknown>;
  /** A pool whose server lives in the time of a test. */
  virtualPool(clock: Pick<Clock, "now">): Pool & Settling;
  /** What a process does each minute. */
  upkeep(pool?: Pool, clock?: Pick<Clock, "now">): Promise<void>;
}

export function upkeepOf(database: Database, clock: Pick<Clock, "now"> = systemClock): Promise<void> {
  const queues = createQueues(database);
  return createUpkeep(database, { queues, patienceMs: 60_000, now: clock.now }).upkeep();
}

/** For `$queued`. */
export const QUEUED = `(select e.*, q.turn, q.due_at, q.claimed_by, q.urgency, q.tried
  from $t.events e join $t.queues q on q.visitor = e.visitor where e.state = 1) as queued`;

type TestOptions<Pool> = SqlOutboxOptions & { readonly pollMs?: number; readonly pool?: Pool };

/** What a virtual pool tells of its requests. */
export type Settling = Pick<ReturnType<typeof trackRequests>, "settled">;

/** Requests to a server, and when none is under way. A clock that a test turns waits for that. */
export function trackRequests(clock: Pick<Clock, "now">) {
  let pending = 0;
  const waiting: (() => void)[] = [];

  const tracked = {
    async track<T>(request: () => Promise<T>): Promise<T> {
      pending++;
      try {
        return await request();
      } finally {
        pending--;
        if (pending === 0) for (const resolve of waiting.splice(0)) resolve();
      }
    },
    /** Resolves once none is, and nothing that is left to do at this moment makes another. */
    async settled(): Promise<void> {
      for (let quietTurns = 0; quietTurns < 3; ) {
        if (pending > 0) await new Promise<void>((resolve) => waiting.push(resolve));
        await new Promise((resolve) => setImmediate(resolve));
        const isBusy = pending > 0 || process.getActiveResourcesInfo().includes("Immediate");
        quietTurns = isBusy ? 0 : quietTurns + 1;
      }
    },
  };
  if (clock instanceof FakeClock) clock.settled = tracked.settled;
  return tracked;
}
