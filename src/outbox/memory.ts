import { z } from "zod";
import { type Clock, systemClock } from "../clock.js";
import { OutboxError } from "../errors.js";
import type { EventKind, OutboxEvent } from "../events.js";
import { readOptions, type SchemaOf } from "../read-options.js";
import { type Buried, DeadLetterBox } from "./dead-letter-box.js";
import { Line, type Spot } from "./line.js";
import {
  kindsBelow,
  type LiveEvent,
  type Outbox,
  type OutboxObserver,
  sizeOf,
  type Verdict,
} from "./outbox.js";
import { RecentIds } from "./recent.js";
import { createRelay } from "./relay.js";
import { type Place, VisitorOrder } from "./visitors.js";

/** What `memoryOutbox()` takes. */
export interface MemoryOutboxOptions {
  /** How many events wait at most. Default 100,000. */
  readonly maxEvents?: number | undefined;
  /** How many bytes they take at most, by a rough count. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** How many dead letters are kept; the oldest goes first. Default 1,000. */
  readonly maxDeadLetters?: number | undefined;
}

const count = z.int({ error: "must be a positive integer" }).min(1, { error: "must be a positive integer" });

const schema = z.strictObject({
  maxEvents: count.default(100_000),
  maxBytes: count.default(64 * 1024 * 1024),
  maxDeadLetters: count.default(1_000),
} satisfies SchemaOf<MemoryOutboxOptions>);

interface Entry extends Place, LiveEvent {
  attempts: number;
  maybeTaken: boolean;
  readonly size: number;
  readonly alive: Spot<Entry>;
  /** Its spot among those of its kind that could be shed: all but the ones under way. */
  idle: Spot<Entry> | undefined;
  ready: Spot<Entry> | undefined;
  cancelRest: (() => void) | undefined;
}

/**
 * Keeps events in this process's memory: they survive an outage of the service, and nothing else. For trying out, for
 * tests, and for hosts that may lose what a crash takes.
 *
 * @throws OptionsError
 */
export function memoryOutbox(options: MemoryOutboxOptions = {}, clock: Clock = systemClock): Outbox {
  const { maxEvents, maxBytes, maxDeadLetters } = readOptions("memoryOutbox", schema, options);
  const order = new VisitorOrder<Entry>();
  const alive = new Line<Entry>();
  const ready = new Line<Entry>();
  const idle: Record<EventKind, Line<Entry>> = {
    click: new Line(),
    registration: new Line(),
    payment: new Line(),
  };
  const ids = new Set<string>();
  /** Ids of what was delivered, discarded or has grown out of the dead letters: reported again, it is still a duplicate. */
  const done = new RecentIds(maxEvents);
  const dead = new DeadLetterBox(maxDeadLetters);
  const relay = createRelay({ claim, settle }, (error) => observer?.troubled(error as Error));
  let observer: OutboxObserver | undefined;
  let bytes = 0;

  function enter(event: OutboxEvent, history: { maybeTaken: boolean; queuedAt: number }): boolean {
    const size = sizeOf(event);
    if (!makeRoom(event.kind, size)) return false;
    bytes += size;
    ids.add(event.id);
    const entry: Entry = {
      event,
      attempts: 0,
      ...history,
      interrupted: false,
      size,
      // A spot wants its member and the member its spot.
      alive: undefined as never,
      idle: undefined,
      ready: undefined,
      cancelRest: undefined,
      byClick: undefined,
      bySession: undefined,
    };
    (entry as { alive: Spot<Entry> }).alive = alive.join(entry);
    entry.idle = idle[event.kind].join(entry);
    if (order.enter(entry, event.data)) makeReady(entry);
    return true;
  }

  function makeRoom(kind: EventKind, size: number): boolean {
    // Before anything is shed for what will not fit all the same.
    if (size > maxBytes) return false;
    while (alive.length >= maxEvents || bytes + size > maxBytes) {
      const victim = kindsBelow(kind)
        .map((lower) => idle[lower].first)
        .find((first) => first !== undefined);
      if (!victim) return false;
      remove(victim);
      // Last, for whoever hears of it may well come back with an event at once.
      observer?.dropped(victim.event, "full");
    }
    return true;
  }

  function makeReady(entry: Entry): void {
    entry.ready = ready.join(entry);
    relay.wake();
  }

  function remove(entry: Entry): void {
    bytes -= entry.size;
    ids.delete(entry.event.id);
    alive.leave(entry.alive);
    stopIdling(entry);
    entry.cancelRest?.();
    order.leave(entry, entry.event.data).forEach(makeReady);
  }

  function stopIdling(entry: Entry): void {
    if (entry.idle) idle[entry.event.kind].leave(entry.idle);
    if (entry.ready) ready.leave(entry.ready);
    entry.idle = undefined;
    entry.ready = undefined;
  }

  function claim(limit: number): Entry[] {
    const claimed: Entry[] = [];
    for (let entry = ready.first; entry && claimed.length < limit; entry = ready.first) {
      stopIdling(entry);
      claimed.push(entry);
    }
    return claimed;
  }

  function settle(entry: Entry, verdict: Verdict): void {
    switch (verdict.is) {
      case "delivered":
        done.add(entry.event.id);
        remove(entry);
        break;
      case "dead": {
        const { is: _, ...death } = verdict;
        const evicted = dead.bury(entry, death, clock.now());
        remove(entry);
        if (evicted) {
          done.add(evicted.letter.id);
          observer?.dropped(evicted.event, "dead-letters-full");
        }
        break;
      }
      case "kept":
        entry.maybeTaken = verdict.maybeTaken;
        entry.idle = idle[entry.event.kind].join(entry);
        makeReady(entry);
        break;
      case "retry":
        entry.attempts++;
        entry.maybeTaken = verdict.maybeTaken;
        entry.idle = idle[entry.event.kind].join(entry);
        entry.cancelRest = clock.after(verdict.inMs, () => makeReady(entry));
    }
  }

  function revive({ letter, event, maybeTaken }: Buried): boolean {
    return enter(event, { maybeTaken: maybeTaken || letter.reason === "unconfirmed", queuedAt: clock.now() });
  }

  function retry(id: string): boolean {
    const buried = dead.get(id);
    if (!buried || !revive(buried)) return false;
    dead.take(id);
    return true;
  }

  return {
    name: "memory",
    durable: false,
    async add(event, { transaction } = {}) {
      if (transaction !== undefined) {
        throw new OutboxError(
          "ERR_AFFILIATE_TRANSACTION",
          "memoryOutbox: cannot take part in a transaction; use postgresOutbox, or track once the transaction has committed",
        );
      }
      if (ids.has(event.id) || dead.get(event.id) || done.has(event.id)) return "duplicate";
      return enter(event, { maybeTaken: false, queuedAt: event.createdAt }) ? "queued" : "full";
    },
    start(deliver, tellTo) {
      observer = tellTo;
      relay.start(deliver);
    },
    wake: relay.wake,
    counts: () => ({
      queued: alive.length,
      dead: dead.counts,
      oldest: alive.first?.event.createdAt ?? null,
    }),
    deadLetters: {
      list: async ({ limit = 100 } = {}) => dead.list(limit),
      retry: async (id) => retry(id),
      retryAll: async () => dead.idsInOrder().filter(retry).length,
      discard: async (id) => {
        if (!dead.take(id)) return false;
        done.add(id);
        return true;
      },
    },
    async close() {
      await relay.stop();
      for (const entry of alive) entry.cancelRest?.();
    },
  };
}
