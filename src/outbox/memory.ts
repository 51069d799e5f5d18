import { z } from "zod";
import { type Clock, systemClock } from "../clock.js";
import type { EventKind, OutboxEvent } from "../events.js";
import { readOptions, type SchemaOf } from "../read-options.js";
import { type Buried, DeadLetterBox } from "./dead-letter-box.js";
import { KnownIds } from "./known-ids.js";
import { type InLine, Line } from "./line.js";
import {
  type AddOutcome,
  kindsBelow,
  type LiveEvent,
  noTransaction,
  type Outbox,
  type OutboxObserver,
  SHEDDING_ORDER,
  sizeOf,
  type Verdict,
} from "./outbox.js";
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

interface Entry extends Place, LiveEvent, InLine<Entry> {
  attempts: number;
  maybeTaken: boolean;
  readonly size: number;
  turn: Turn | undefined;
  linedUp: boolean;
  underWay: boolean;
  cancelRest: (() => void) | undefined;
}

/** An entry's place among those that have not lined up yet, or among those that are ready. */
interface Turn extends InLine<Turn> {
  readonly entry: Entry;
}

const LINED_UP_AT_ONCE = 1_000;

/**
 * Keeps events in this process's memory: they survive an outage of the service, and nothing else. For trying out, for
 * tests, and for hosts that may lose what a crash takes.
 *
 * @throws OptionsError
 */
export function memoryOutbox(options: MemoryOutboxOptions = {}, clock: Clock = systemClock): Outbox {
  const { maxEvents, maxBytes, maxDeadLetters } = readOptions("memoryOutbox", schema, options);
  const order = new VisitorOrder<Entry>();
  const alive: Record<EventKind, Line<Entry>> = {
    click: new Line(),
    registration: new Line(),
    payment: new Line(),
  };
  /** They line up only when somebody has room for them: until then they lie in the order in which they came, and cost no more. */
  const arrived = new Line<Turn>();
  const ready = new Line<Turn>();
  /** Also of what was delivered, discarded or has grown out of the dead letters: reported again, it is still a duplicate. */
  const ids = new KnownIds(maxEvents);
  const dead = new DeadLetterBox(maxDeadLetters);
  const relay = createRelay({ claim, settle }, (error) => observer?.troubled(error as Error));
  let observer: OutboxObserver | undefined;
  let length = 0;
  let bytes = 0;

  function enter(event: OutboxEvent, maybeTaken: boolean, queuedAt: number): boolean {
    const size = sizeOf(event);
    if (!makeRoom(event.kind, size)) return false;
    length++;
    bytes += size;
    const entry: Entry = {
      event,
      attempts: 0,
      maybeTaken,
      interrupted: false,
      queuedAt,
      size,
      turn: undefined,
      linedUp: false,
      underWay: false,
      cancelRest: undefined,
      before: undefined,
      after: undefined,
      byClick: undefined,
      bySession: undefined,
    };
    alive[event.kind].join(entry);
    takeTurn(entry, arrived);
    return true;
  }

  function add(event: OutboxEvent): AddOutcome {
    if (ids.has(event.id)) return "duplicate";
    if (!enter(event, false, event.createdAt)) return "full";
    ids.add(event.id);
    return "queued";
  }

  function makeRoom(kind: EventKind, size: number): boolean {
    // Before anything is shed for what will not fit all the same.
    if (size > maxBytes) return false;
    while (length >= maxEvents || bytes + size > maxBytes) {
      const victim = kindsBelow(kind)
        .map(firstToShed)
        .find((first) => first !== undefined);
      if (!victim) return false;
      remove(victim);
      ids.forget(victim.event.id);
      // Last, for whoever hears of it may well come back with an event at once.
      observer?.dropped(victim.event, "full");
    }
    return true;
  }

  /** The oldest that is not under way; few are, however many wait. */
  function firstToShed(kind: EventKind): Entry | undefined {
    for (const entry of alive[kind]) if (!entry.underWay) return entry;
    return undefined;
  }

  function takeTurn(entry: Entry, line: Line<Turn>): void {
    entry.turn = { entry, before: undefined, after: undefined };
    line.join(entry.turn);
    relay.wake();
  }

  function makeReady(entry: Entry): void {
    takeTurn(entry, ready);
  }

  function remove(entry: Entry): void {
    length--;
    bytes -= entry.size;
    alive[entry.event.kind].leave(entry);
    stepOut(entry);
    entry.cancelRest?.();
    if (entry.linedUp) order.leave(entry, entry.event.data).forEach(makeReady);
  }

  function stepOut(entry: Entry): void {
    if (entry.turn) (entry.linedUp ? ready : arrived).leave(entry.turn);
    entry.turn = undefined;
  }

  function claim(limit: number): Entry[] {
    lineUp(limit - ready.length);
    const claimed = ready.peek(limit).map(({ entry }) => entry);
    for (const entry of claimed) {
      stepOut(entry);
      entry.underWay = true;
    }
    return claimed;
  }

  /** Has arrivals take their place behind their visitors' earlier events, until so many more are ready. */
  function lineUp(wanted: number): void {
    let missing = wanted;
    for (let time = 0; arrived.first && missing > 0 && time < LINED_UP_AT_ONCE; time++) {
      const { entry } = arrived.first;
      stepOut(entry);
      entry.linedUp = true;
      if (!order.enter(entry, entry.event.data)) continue;
      makeReady(entry);
      missing--;
    }
    // Many of them belong to visitors who have to wait: the host has its turn before the others are looked at.
    if (missing > 0 && arrived.first) relay.wake();
  }

  function settle(entry: Entry, verdict: Verdict): void {
    entry.underWay = false;
    switch (verdict.is) {
      case "delivered":
        remove(entry);
        ids.retire(entry.event.id);
        break;
      case "dead": {
        const { is: _, ...death } = verdict;
        const evicted = dead.bury(entry, death, clock.now());
        remove(entry);
        if (evicted) {
          ids.retire(evicted.letter.id);
          observer?.dropped(evicted.event, "dead-letters-full");
        }
        break;
      }
      case "kept":
        entry.maybeTaken = verdict.maybeTaken;
        makeReady(entry);
        break;
      case "retry":
        entry.attempts++;
        entry.maybeTaken = verdict.maybeTaken;
        entry.cancelRest = clock.after(verdict.inMs, () => makeReady(entry));
    }
  }

  function revive({ letter, event, maybeTaken }: Buried): boolean {
    return enter(event, maybeTaken || letter.reason === "unconfirmed", clock.now());
  }

  function retry(id: string): boolean {
    const buried = dead.get(id);
    if (!buried || !revive(buried)) return false;
    dead.take(id);
    return true;
  }

  function oldest(): number | null {
    const first = Math.min(
      ...SHEDDING_ORDER.map((kind) => alive[kind].first?.event.createdAt ?? Number.POSITIVE_INFINITY),
    );
    return Number.isFinite(first) ? first : null;
  }

  return {
    name: "memory",
    durable: false,
    // Not async: every event passes here, and what it awaits is there already.
    add(event, { transaction } = {}) {
      if (transaction !== undefined) return Promise.reject(noTransaction("memoryOutbox"));
      return Promise.resolve(add(event));
    },
    start(deliver, tellTo) {
      observer = tellTo;
      relay.start(deliver);
    },
    wake: relay.wake,
    counts: () => ({ queued: length, dead: dead.counts, oldest: oldest() }),
    deadLetters: {
      list: async ({ limit = 100 } = {}) => dead.list(limit),
      retry: async (id) => retry(id),
      retryAll: async () => dead.idsInOrder().filter(retry).length,
      discard: async (id) => {
        if (!dead.take(id)) return false;
        ids.retire(id);
        return true;
      },
    },
    async close() {
      await relay.stop();
      for (const line of Object.values(alive)) for (const entry of line) entry.cancelRest?.();
    },
  };
}
