import * as z from "zod/mini";
import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { byKind, rowOf } from "../../conversion/kinds.js";
import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { type History, UNTRIED, type Verdict } from "../claim.js";
import { withScheduled } from "../counts.js";
import { isRetried } from "../dead-letters.js";
import { MIB, positiveInteger } from "../option-types.js";
import {
  type AddOutcome,
  type CancelOutcome,
  noTransaction,
  type Outbox,
  type OutboxCounts,
  type OutboxObserver,
  taken,
} from "../outbox.js";
import { eraseIn, personalDataIn } from "../personal-data.js";
import { createRelay } from "../relay.js";
import { SHARE_OF_DEAD_LETTERS, shedFor } from "../shedding.js";
import { ClicksByVisitor } from "./clicks-by-visitor.js";
import { DeadLetterBox, type KeptLetter } from "./dead-letters.js";
import { Entry } from "./entry.js";
import { KnownIds } from "./known-ids.js";
import { createPersonal } from "./personal.js";
import { Queue } from "./queue.js";
import { Scheduled } from "./scheduled.js";

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
  const queue = new Queue(() => relay.wake());
  const relay = createRelay({ claim: (capacity) => queue.claim(capacity, clock.now()), settle }, (error) =>
    observer?.degraded(error as Error),
  );
  const clicks = new ClicksByVisitor();
  /** Also of delivered, discarded and evicted events: reported again, each is still a duplicate. */
  const ids = new KnownIds(byKind((kind) => Math.min(maxEvents, rowOf(kind).remembered.most)));
  const dead = new DeadLetterBox(maxDeadLetters, maxBytes * SHARE_OF_DEAD_LETTERS);
  const scheduled = new Scheduled(clock, (event) => enqueue(new Entry(event, UNTRIED, event.createdAt)));
  const personal = createPersonal({ queue, scheduled, dead, erase, discard, cancel });
  let isBound = false;
  let observer: OutboxObserver | undefined;
  /** Of the events in the queue. */
  let bytes = 0;

  function append(event: OutboxEvent, history: History, queuedAt: number): boolean {
    const entry = new Entry(event, history, queuedAt);
    const crowded = event.kind === "click" ? clicks.clickToShed(event) : undefined;
    if (crowded) {
      // The new click replaces an old one of its visitor: no other event is shed for it.
      if (!fits(entry.size - crowded.size)) return false;
      shed(crowded, "visitor-full");
    }
    // Before space is made, so that no event is shed that this one waits for.
    enqueue(entry);
    if (makeSpace(entry)) return true;
    remove(entry);
    return false;
  }

  function add(event: OutboxEvent): AddOutcome {
    if (ids.has(event.id)) return "duplicate";
    const isScheduled = (notBeforeOf(event) ?? 0) > clock.now();
    if (!(isScheduled ? schedule(event) : append(event, UNTRIED, event.createdAt))) return "full";
    ids.add(event.id);
    return "queued";
  }

  function schedule(event: OutboxEvent): boolean {
    scheduled.add(event);
    if (makeSpace({ urgency: event.kind })) return true;
    scheduled.take(event.id);
    return false;
  }

  function cancel(id: string): CancelOutcome {
    if (scheduled.take(id)) ids.cancel(id);
    if (ids.isCancelled(id)) return "cancelled";
    return ids.has(id) ? "sent" : "unknown";
  }

  function fits(more: number): boolean {
    return bytes + scheduled.bytes + dead.bytes + more <= maxBytes;
  }

  function makeSpace({ urgency }: Pick<Entry, "urgency">): boolean {
    return shedFor<Entry | KeptLetter>(urgency, {
      oldestFirst: (lower) => queue.unclaimed(lower),
      dead: (own) => (fits(0) ? [] : dead.oldestFirst(own)),
      isEnough: (events, freed) => queue.length + scheduled.count.count - events <= maxEvents && fits(-freed),
      shed: (each) => ("letter" in each ? evict(each) : shed(each, "full")),
    });
  }

  function discard(id: string): boolean {
    const kept = dead.take(id);
    if (kept) ids.retire(id, kept.letter.kind);
    return kept !== undefined;
  }

  function evict({ letter, event }: KeptLetter): void {
    discard(letter.id);
    // If it is the event that has just died, listeners are told of that first.
    queueMicrotask(() => observer?.dropped(event, "dead-letters-full"));
  }

  function shed(entry: Entry, reason: "full" | "visitor-full"): void {
    remove(entry);
    ids.forget(entry.event.id);
    // Last, because a listener may report another event at once.
    observer?.dropped(entry.event, reason);
  }

  function enqueue(entry: Entry): void {
    bytes += entry.size;
    queue.enqueue(entry, clock.now());
    if (entry.event.kind === "click") clicks.add(entry);
  }

  function remove(entry: Entry): void {
    bytes -= entry.size;
    queue.remove(entry, clock.now());
    if (entry.event.kind === "click") clicks.remove(entry);
    entry.cancelRest?.();
  }

  /** Its id stays known. */
  function leave(entry: Entry): void {
    remove(entry);
    ids.retire(entry.event.id, entry.event.kind);
  }

  function erase(entry: Entry): void {
    leave(entry);
    observer?.erased?.(entry.event);
  }

  function settle(entry: Entry, verdict: Verdict): void {
    switch (verdict.type) {
      case "delivered":
        leave(entry);
        break;
      case "dead":
        dead.keep(entry, verdict, clock.now());
        remove(entry);
        for (let each = dead.tooMany; each; each = dead.tooMany) evict(each);
        break;
      case "release":
        queue.release(entry);
        break;
      case "retry":
        entry.history = verdict.history;
        queue.rest(entry);
        if (verdict.inMs > 0) entry.cancelRest = clock.after(verdict.inMs, () => queue.requeue(entry));
        else queue.requeue(entry);
    }
  }

  function retry({ id }: { readonly id: string }): boolean {
    const kept = dead.take(id);
    if (!kept) return false;
    const maybeTaken = kept.maybeTaken || kept.letter.reason === "unconfirmed";
    const isQueued = append(kept.event, maybeTaken ? { ...UNTRIED, maybeTaken } : UNTRIED, clock.now());
    if (!isQueued) dead.putBack(kept);
    return isQueued;
  }

  function counts(): OutboxCounts {
    const { length, oldest, byKind } = queue;
    return withScheduled({ queued: length, oldest, byKind, dead: dead.counts }, scheduled.count);
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
    cancel: async (id) => cancel(id),
    personalData: (person) => personalDataIn(personal, person),
    erase: (person) => eraseIn(personal, person),
    deadLetters: {
      list: async (query) => dead.list(query),
      retry: async (id) => retry({ id }),
      retryAll: async (filter) => {
        const letters = dead.matching().filter((letter) => isRetried(letter, filter));
        return letters.sort((a, b) => a.createdAt - b.createdAt).filter(retry).length;
      },
      discard: async (id) => discard(id),
      sums: async (filter) => dead.sums(filter),
      ids: async (filter) => dead.matching(filter).map(({ id }) => id),
    },
    async close() {
      scheduled.stop();
      await relay.stop();
      for (const entry of queue) entry.cancelRest?.();
    },
  };
}
