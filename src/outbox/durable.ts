import type { OutboxEvent } from "../conversion/events.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import type { OutboxCounts } from "./counts.js";
import { createFallback, type Storage } from "./fallback.js";
import {
  type Claim,
  closed,
  noTransaction,
  type Outbox,
  type OutboxObserver,
  type Stored,
  taken,
} from "./outbox.js";
import { eraseIn, type PersonalStorage, personalDataIn } from "./personal-data.js";
import { createRelay } from "./relay.js";

export interface DurableStorage<C extends Claim>
  extends Storage<C>,
    Pick<Outbox, "bind" | "deadLetters" | "unanswered" | "cancel"> {
  /** Stores it in the host's own transaction. Without it, such a report is refused. */
  appendIn?(transaction: unknown, event: OutboxEvent): Promise<Stored>;
  /** Without what still waits in memory. */
  counts(): Omit<OutboxCounts, "trouble">;
  /** Counts anew. */
  look(): Promise<unknown>;
  /** To search for a person's events. */
  readonly personal: PersonalStorage;
  /** Called once. */
  start?(): void;
  /** No more events come. Verdicts of those under way still do. */
  stop?(): void;
  /** All calls have ended: close files, connections and timers. */
  close?(): Promise<void>;
}

/** What durable outboxes share: relay, fallback to memory, notices, counts, order of closing. */
export function createDurable<C extends Claim>(
  storage: DurableStorage<C>,
  options: {
    /** `disk`, `postgres`: its factory is taken to be `<name>Outbox`. */
    readonly name: string;
    /** Most bytes of events in memory while the storage fails, roughly. */
    readonly maxMemoryBytes: number;
    /** How often the storage looks for events that have rested. */
    readonly pollMs: number;
    readonly clock: Clock;
  },
) {
  const { name, maxMemoryBytes, pollMs, clock } = options;
  const notices: ((observer: OutboxObserver) => void)[] = [];
  let observer: OutboxObserver | undefined;
  let isBound = false;
  let closing: Promise<void> | undefined;
  /** What is wrong with the spool. */
  let spoolProblem: Error | undefined;

  const fallback = createFallback<C>(storage, {
    maxBytes: maxMemoryBytes,
    pollMs,
    clock,
    wake: () => relay.wake(),
    observer: {
      dropped: (event, reason) => notify((to) => to.dropped(event, reason)),
      degraded: (error) => spoolProblem || notify((to) => to.degraded(error)),
      recovered: () => spoolProblem || notify((to) => to.recovered()),
    },
  });
  const relay = createRelay(fallback, (error) => notify((to) => to.degraded(errorFrom(error))));

  /** Calls the observer. Before there is one, keeps the notice for it. */
  function notify(notice: (to: OutboxObserver) => void): void {
    if (observer) notice(observer);
    else notices.push(notice);
  }

  /** The spool fails; `undefined`: it works. Reported once if the storage fails, too. */
  function spoolFails(error: Error | undefined): void {
    const hasChanged = (spoolProblem === undefined) !== (error === undefined);
    spoolProblem = error;
    if (hasChanged && !fallback.problem) notify((to) => (error ? to.degraded(error) : to.recovered()));
  }

  function counts(): OutboxCounts {
    const problem = fallback.problem ?? spoolProblem;
    const { queued, oldest, byKind, ...rest } = storage.counts();
    return {
      ...rest,
      ...(byKind && !fallback.problem && { byKind }),
      queued: queued + fallback.length,
      oldest: oldest ?? fallback.oldest,
      ...(problem && { trouble: problem.message }),
    };
  }

  async function close(): Promise<void> {
    storage.stop?.();
    await relay.stop();
    // Drops verdicts that a failing storage does not take.
    await fallback.close();
    // What is left is told as it is now.
    if (observer && !fallback.problem) await storage.look().catch(() => {});
    await storage.close?.();
  }

  const { personal, deadLetters, unanswered } = storage;
  const outbox: Outbox = {
    name,
    get durable() {
      return fallback.isDurable;
    },
    get storesAtOnce() {
      return storage.spool?.isWhole === true;
    },
    bind(clientId) {
      if (isBound) throw taken(`${name}Outbox`);
      // It may throw, and the host may try again.
      storage.bind(clientId);
      isBound = true;
    },
    // Not async: that costs each event two more promises.
    add(event, { transaction } = {}) {
      if (closing) return Promise.reject(closed(`${name}Outbox`));
      if (transaction === undefined) return fallback.add(event);
      return storage.appendIn?.(transaction, event) ?? Promise.reject(noTransaction(`${name}Outbox`));
    },
    start(deliver, to) {
      observer = to;
      for (const notice of notices.splice(0)) notice(to);
      relay.start(deliver);
      storage.start?.();
    },
    wake: relay.wake,
    get idle() {
      return relay.idle && fallback.length === 0 && fallback.problem === undefined;
    },
    counts,
    async look() {
      await storage.look();
      return counts();
    },
    deadLetters,
    ...(unanswered && { unanswered }),
    async cancel(id) {
      await fallback.stored((event) => event.id === id);
      return storage.cancel(id);
    },
    async personalData(person) {
      await fallback.stored(() => true);
      return personalDataIn(personal, person);
    },
    async erase(person) {
      await fallback.stored(() => true);
      return eraseIn(personal, person);
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
  return { outbox, wake: relay.wake, notify, spoolFails };
}
