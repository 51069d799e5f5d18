import * as z from "zod/mini";
import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { byKind, type EventKind, KINDS, LEAST_URGENT_FIRST, rowOf } from "../../conversion/kinds.js";
import { type Clock, systemClock } from "../../shared/clock.js";
import { LinkedList } from "../../shared/linked-list.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { setImmediate } from "../../shared/real-timers.js";
import { Ring } from "../../shared/ring.js";
import { earliestOf, type OutboxCounts } from "../counts.js";
import type { DeadLetter, DeadLetterFilter, DeadLetterSum } from "../dead-letters.js";
import { MIB, positiveInteger } from "../option-types.js";
import {
  type AddOutcome,
  type Capacity,
  type Claim,
  noTransaction,
  type Outbox,
  type OutboxObserver,
  taken,
  UNTRIED,
  type Verdict,
} from "../outbox.js";
import { eraseIn, type PersonalStorage, personalDataIn, personalEventOf } from "../personal-data.js";
import { createRelay } from "../relay.js";
import { SHARE_OF_DEAD_LETTERS, sizeOfLetter } from "../shedding.js";
import { Entry, Queues } from "./queues.js";

/** What `memoryOutbox()` takes. */
export interface MemoryOutboxOptions {
  /** How many events wait at most. Default 100,000. */
  readonly maxEvents?: number | undefined;
  /**
   * How many bytes events and dead letters take at most, roughly; dead letters at most half of
   * that. Default 64 MiB.
   */
  readonly maxBytes?: number | undefined;
  /**
   * How many dead letters are kept. Above that, the oldest click goes first, then registrations,
   * and payments last. Default 1,000.
   */
  readonly maxDeadLetters?: number | undefined;
}

const schema = z.strictObject({
  maxEvents: positiveInteger(100_000),
  maxBytes: positiveInteger(64 * MIB),
  maxDeadLetters: positiveInteger(1_000),
} satisfies SchemaOf<MemoryOutboxOptions>);

interface MemoryClaim extends Claim {
  readonly entry: Entry;
}

const SEARCHED_AT_ONCE = 1_000;

/**
 * Keeps events in this process's memory: they survive an outage of the service, and nothing else.
 * For trying out, for tests, and for hosts that may lose what a crash takes.
 *
 * @throws OptionsError
 */
export function memoryOutbox(options?: MemoryOutboxOptions): Outbox;
/** @internal */
export function memoryOutbox(options: MemoryOutboxOptions | undefined, clock?: Clock): Outbox;
export function memoryOutbox(options: MemoryOutboxOptions = {}, clock: Clock = systemClock): Outbox {
  const { maxEvents, maxBytes, maxDeadLetters } = readOptions("memoryOutbox", schema, options);
  /** By id: reported again, each is a duplicate. */
  const known = new Map<string, Entry | "done" | "cancelled">();
  /** In the order in which they were reported. */
  const scheduled = new LinkedList<Entry>();
  const queued = byKind(() => new LinkedList<Entry>());
  /** In the order in which they died. */
  const dead = new LinkedList<Entry>();
  /** The ids of events that are done, the oldest of which is forgotten. */
  const left = byKind((kind) => new Ring<string>(Math.min(maxEvents, rowOf(kind).remembered.most)));
  const queues = new Queues(() => relay.wake());
  const relay = createRelay<MemoryClaim>({ claim, settle }, (error) => observer?.degraded(error as Error));
  let isBound = false;
  let observer: OutboxObserver | undefined;
  let bytes = 0;
  let bytesOfDead = 0;

  function add(event: OutboxEvent): AddOutcome {
    if (known.has(event.id)) return "duplicate";
    const entry = new Entry(event);
    const isScheduled = (notBeforeOf(event) ?? 0) > clock.now();
    return (isScheduled ? schedule(entry) : enqueue(entry)) ? "queued" : "full";
  }

  function schedule(entry: Entry): boolean {
    keep(entry, scheduled);
    setTimer(entry);
    return makeSpaceFor(entry);
  }

  function setTimer(entry: Entry): void {
    const { event } = entry;
    const dueAt = notBeforeOf(event) as number;
    entry.cancelTimer = clock.after(Math.max(0, dueAt - clock.now()), () => {
      // The clock was set back, or no timer can be that long.
      if (dueAt > clock.now()) return setTimer(entry);
      take(entry);
      join(new Entry({ ...event, createdAt: dueAt }));
    });
  }

  function enqueue(entry: Entry): boolean {
    // Before space is made, so that no event is shed that this one waits for.
    join(entry);
    return makeSpaceFor(entry, queues.clickToShed(entry));
  }

  function join(entry: Entry): void {
    keep(entry, queued[entry.event.kind]);
    queues.append(entry, clock.now());
  }

  function bury(entry: Entry): void {
    keep(entry, dead);
    bytesOfDead += entry.size;
  }

  function keep(entry: Entry, list: LinkedList<Entry>): void {
    known.set(entry.event.id, entry);
    bytes += entry.size;
    list.append(entry);
  }

  function take(entry: Entry): void {
    bytes -= entry.size;
    entry.cancelTimer?.();
    if (entry.letter) {
      bytesOfDead -= entry.size;
      dead.remove(entry);
    } else if (entry.queue) {
      queued[entry.event.kind].remove(entry);
      queues.remove(entry, clock.now());
    } else scheduled.remove(entry);
  }

  /** As if it had never come. */
  function forget(entry: Entry): void {
    take(entry);
    known.delete(entry.event.id);
  }

  /** Its id stays known until enough later ones of its kind have left. */
  function retire(entry: Entry, as: "done" | "cancelled" = "done"): void {
    const { id, kind } = entry.event;
    take(entry);
    known.set(id, as);
    const oldest = left[kind].replaceOldest(id);
    if (oldest !== undefined) known.delete(oldest);
  }

  /**
   * Sheds `crowded`, and no more than is needed besides. If all that may be shed is too little,
   * sheds nothing, and forgets the event.
   */
  function makeSpaceFor(entry: Entry, crowded?: Entry): boolean {
    const victims = crowded ? [crowded] : [];
    let events = numberOf(queued) + scheduled.length - victims.length - maxEvents;
    let excess = bytes - (crowded?.size ?? 0) - maxBytes;
    // Looks for no victim if none is needed: the first may be behind all dead letters.
    const sheddable = events > 0 || excess > 0 ? sheddableFor(entry) : [];
    for (const victim of sheddable) {
      if (victim.letter && excess <= 0) continue;
      victims.push(victim);
      excess -= victim.size;
      if (!victim.letter) events--;
      if (events <= 0 && excess <= 0) break;
    }
    if (events > 0 || excess > 0) {
      forget(entry);
      return false;
    }
    for (const victim of victims)
      drop(victim, victim === crowded ? "visitor-full" : victim.letter ? "dead-letters-full" : "full");
    return true;
  }

  /** The least urgent first. */
  function* sheddableFor({ queue, event }: Entry): Generator<Entry> {
    const urgency = queue?.urgency ?? event.kind;
    for (const lower of LEAST_URGENT_FIRST) {
      yield* deadOf(lower);
      if (lower === urgency) return;
      yield* queues.unclaimed(lower);
    }
  }

  function* deadOf(kind: EventKind): Generator<Entry> {
    for (const entry of dead) if (entry.event.kind === kind) yield entry;
  }

  /** The id of a dead letter stays known. */
  function drop(entry: Entry, reason: "full" | "visitor-full" | "dead-letters-full"): void {
    if (entry.letter) retire(entry);
    else forget(entry);
    // A moment later: the listener may report an event, and must first learn that this one has died.
    queueMicrotask(() => observer?.dropped(entry.event, reason));
  }

  function evictWhatIsTooMuch(): void {
    for (const kind of LEAST_URGENT_FIRST)
      for (const entry of deadOf(kind)) {
        if (dead.length <= maxDeadLetters && bytesOfDead <= maxBytes * SHARE_OF_DEAD_LETTERS) return;
        drop(entry, "dead-letters-full");
      }
  }

  function claim(capacity: Capacity): MemoryClaim[] {
    return queues.claim(capacity, clock.now()).map(({ entry, lane }) => {
      const { event, history, queuedAt } = entry;
      return { entry, lane, event, history, queuedAt, interrupted: false };
    });
  }

  function settle({ entry, lane }: MemoryClaim, verdict: Verdict): void {
    switch (verdict.type) {
      case "delivered":
        retire(entry);
        break;
      case "dead": {
        const { type: _, ...death } = verdict;
        const { id, destination, kind, data, createdAt } = entry.event;
        take(entry);
        entry.letter = { id, destination, kind, event: data, ...death, createdAt, diedAt: clock.now() };
        entry.size = sizeOfLetter(entry.event, verdict);
        bury(entry);
        evictWhatIsTooMuch();
        break;
      }
      case "release":
        queues.become(entry, entry.history.triedAt > 0 ? "rested" : "untried", !lane.newestFirst);
        break;
      case "retry": {
        const again = () => queues.become(entry, "rested");
        entry.history = verdict.history;
        queues.become(entry, "resting");
        if (verdict.inMs > 0) entry.cancelTimer = clock.after(verdict.inMs, again);
        else again();
      }
    }
  }

  function retry(id: string): boolean {
    const entry = known.get(id);
    if (!isDead(entry)) return false;
    const maybeTaken = entry.history.maybeTaken || entry.letter.reason === "unconfirmed";
    take(entry);
    if (enqueue(new Entry(entry.event, { ...UNTRIED, maybeTaken }, clock.now()))) return true;
    bury(entry);
    return false;
  }

  /** The first to die first. */
  function letters({ kind, reason }: DeadLetterFilter = {}): DeadLetter[] {
    const all = [...dead].map(({ letter }) => letter as DeadLetter);
    const ofKind = all.filter((letter) => (kind ?? letter.kind) === letter.kind);
    const ofReason = ofKind.filter((letter) => (reason ?? letter.reason) === letter.reason);
    return ofReason.sort((a, b) => a.diedAt - b.diedAt);
  }

  const personal: PersonalStorage = {
    async *pages() {
      // As they are at one moment: a dead letter that is retried meanwhile is not missed.
      const all = [scheduled, ...Object.values(queued), dead].flatMap((list) =>
        Array.from(list, ({ event, state }) =>
          personalEventOf(event, state === "scheduled" ? "waiting" : state),
        ),
      );
      for (let nth = 0; nth < all.length; nth += SEARCHED_AT_ONCE) {
        yield all.slice(nth, nth + SEARCHED_AT_ONCE);
        // Requests go on between two pages.
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
    async remove(found) {
      let removed = 0;
      for (const { id } of found) {
        const entry = known.get(id);
        if (typeof entry !== "object" || entry.state === "under-way") continue;
        const { event, state } = entry;
        retire(entry, state === "scheduled" ? "cancelled" : "done");
        if (state === "waiting") observer?.erased?.(event);
        removed++;
      }
      return removed;
    },
  };

  function counts(): OutboxCounts {
    const kinds = byKind((kind) => {
      const { length, first } = queued[kind];
      const more = kind === "payment" ? scheduled.length : 0;
      return { queued: length + more, oldest: first?.event.createdAt ?? null };
    });
    const died = { rejected: 0, unconfirmed: 0, expired: 0 };
    for (const { letter } of dead) died[(letter as DeadLetter).reason]++;
    let next = Number.POSITIVE_INFINITY;
    for (const { event } of scheduled) next = Math.min(next, notBeforeOf(event) as number);
    return {
      queued: numberOf(queued) + scheduled.length,
      oldest: earliestOf(KINDS.map((kind) => kinds[kind].oldest)),
      ...{ byKind: kinds, dead: died },
      scheduled: { count: scheduled.length, next: scheduled.length > 0 ? next : null },
    };
  }

  return {
    name: "memory",
    durable: false,
    bind() {
      if (isBound) throw taken("memoryOutbox");
      isBound = true;
    },
    add(event, { transaction } = {}) {
      if (transaction !== undefined) return Promise.reject(noTransaction("memoryOutbox"));
      return Promise.resolve(add(event));
    },
    start(deliver, to) {
      observer = to;
      relay.start(deliver);
    },
    wake: relay.wake,
    get idle() {
      return relay.idle;
    },
    counts,
    look: async () => counts(),
    async cancel(id) {
      const entry = known.get(id);
      if (entry === undefined) return "unknown";
      if (typeof entry === "object" && entry.state === "scheduled") retire(entry, "cancelled");
      return known.get(id) === "cancelled" ? "cancelled" : "sent";
    },
    personalData: (person) => personalDataIn(personal, person),
    erase: (person) => eraseIn(personal, person),
    deadLetters: {
      list: async ({ limit = 100, id, ...filter } = {}) =>
        letters(filter)
          .filter((letter) => letter.id === (id ?? letter.id))
          .slice(0, limit),
      retry: async (id) => retry(id),
      retryAll: async (filter) => {
        const meant = letters(filter).filter(({ reason }) => filter?.reason || reason !== "unconfirmed");
        return meant.sort((a, b) => a.createdAt - b.createdAt).filter(({ id }) => retry(id)).length;
      },
      async discard(id) {
        const entry = known.get(id);
        if (!isDead(entry)) return false;
        retire(entry);
        return true;
      },
      async sums(filter) {
        const found = new Map<string, DeadLetterSum>();
        for (const { kind, reason, event } of letters(filter)) {
          const { count, amount } = found.get(`${kind} ${reason}`) ?? { count: 0, amount: 0 };
          const more = "leadValue" in event ? event.leadValue : 0;
          found.set(`${kind} ${reason}`, { kind, reason, count: count + 1, amount: amount + more });
        }
        return [...found.values()];
      },
      ids: async (filter) => letters(filter).map(({ id }) => id),
    },
    async close() {
      await relay.stop();
      for (const list of [scheduled, ...Object.values(queued)])
        for (const { cancelTimer } of list) cancelTimer?.();
    },
  };
}

function numberOf(lists: Readonly<Record<EventKind, LinkedList<Entry>>>): number {
  return KINDS.reduce((sum, kind) => sum + lists[kind].length, 0);
}

function isDead(entry: Entry | string | undefined): entry is Entry & { readonly letter: DeadLetter } {
  return typeof entry === "object" && entry.state === "dead";
}
