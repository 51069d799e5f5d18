import type { EventKind, OutboxEvent } from "../events.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import { type InLine, Line } from "./line.js";
import {
  type AddOutcome,
  type Capacity,
  type Claim,
  kindsBelow,
  type OutboxObserver,
  sizeOf,
  type Verdict,
} from "./outbox.js";

/** Where a durable outbox stores. What rejects means that the storage is in trouble; nobody knows then how far it got. */
export interface Storage<C extends Claim> {
  append(event: OutboxEvent): Promise<"queued" | "duplicate" | "full">;
  claim(capacity: Capacity): Promise<readonly C[]>;
  settle(claim: C, verdict: Verdict): Promise<void>;
}

/** A storage whose troubles are nobody else's: `add`, `claim` and `settle` never reject. */
export interface Shelter<C extends Claim> {
  add(event: OutboxEvent): Promise<AddOutcome>;
  claim(capacity: Capacity): Promise<readonly C[]>;
  settle(claim: C, verdict: Verdict): Promise<void>;
  /** What is wrong with the storage, as long as something is. */
  readonly trouble: Error | undefined;
  /** How many events are on their way to the storage, or wait for it to be well. */
  readonly length: number;
  /** When the first of them happened, in milliseconds since the epoch; `null` where there is none. */
  readonly oldest: number | null;
  /** Makes a last attempt, where there is trouble. What is left is in memory only. */
  close(): Promise<void>;
}

export interface ShelterOptions {
  /** How many bytes of memory the events take at most, by a rough count. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly observer: OutboxObserver;
}

interface Guest extends InLine<Guest> {
  readonly event: OutboxEvent;
  readonly size: number;
  idle: Idle | undefined;
}

/** A guest's place among those of its kind that could be shed: all but the ones on their way. */
interface Idle extends InLine<Idle> {
  readonly guest: Guest;
}

const FIRST_LOOK_MS = 1_000;
const LONGEST_LOOK_MS = 30_000;
const CONVOY = 200;

/**
 * Keeps in memory what a storage in trouble cannot take, and takes it there, in order, once it is well again. Nothing is
 * claimed meanwhile: an event in here may have to wait for one in there.
 */
export function createShelter<C extends Claim>(
  storage: Storage<C>,
  { maxBytes, clock, observer }: ShelterOptions,
): Shelter<C> {
  const line = new Line<Guest>();
  const idle: Record<EventKind, Line<Idle>> = {
    click: new Line(),
    registration: new Line(),
    payment: new Line(),
  };
  const ids = new Set<string>();
  const verdicts: [C, Verdict][] = [];
  let bytes = 0;
  let trouble: Error | undefined;
  let lookMs = FIRST_LOOK_MS;
  let cancelLook = () => {};
  let recovery: Promise<void> | undefined;
  let closed = false;

  function enter(event: OutboxEvent): Guest | undefined {
    const size = sizeOf(event);
    if (!makeRoom(event.kind, size)) return undefined;
    const guest: Guest = { event, size, idle: undefined, before: undefined, after: undefined };
    line.join(guest);
    ids.add(event.id);
    bytes += size;
    return guest;
  }

  function leave(guest: Guest): void {
    line.leave(guest);
    setOff(guest);
    ids.delete(guest.event.id);
    bytes -= guest.size;
  }

  function makeRoom(kind: EventKind, size: number): boolean {
    while (bytes + size > maxBytes) {
      const victim = kindsBelow(kind)
        .map((lower) => idle[lower].first?.guest)
        .find((first) => first !== undefined);
      if (!victim) return false;
      leave(victim);
      observer.dropped(victim.event, "full");
    }
    return true;
  }

  function stay(guest: Guest): void {
    guest.idle = { guest, before: undefined, after: undefined };
    idle[guest.event.kind].join(guest.idle);
  }

  function setOff(guest: Guest): void {
    if (guest.idle) idle[guest.event.kind].leave(guest.idle);
    guest.idle = undefined;
  }

  /** Takes one event to the storage. Rejects, and leaves it where it was, where that fails. */
  async function carry(guest: Guest): Promise<"queued" | "duplicate" | "full"> {
    setOff(guest);
    try {
      const outcome = await storage.append(guest.event);
      leave(guest);
      return outcome;
    } catch (error) {
      stay(guest);
      throw error;
    }
  }

  function fallIll(error: unknown): void {
    if (trouble) return;
    trouble = errorFrom(error);
    lookMs = FIRST_LOOK_MS;
    lookLater();
    observer.troubled(trouble);
  }

  function lookLater(): void {
    if (!closed) cancelLook = clock.after(lookMs, recover);
  }

  function recover(): Promise<void> {
    recovery ??= tryToRecover().finally(() => {
      recovery = undefined;
    });
    return recovery;
  }

  async function tryToRecover(): Promise<void> {
    try {
      while (verdicts.length > 0 || line.length > 0) {
        // Verdicts first: they make room.
        if (verdicts.length > 0) await settleFirst();
        else await moveConvoy();
      }
    } catch (error) {
      trouble = errorFrom(error);
      lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS);
      lookLater();
      return;
    }
    trouble = undefined;
    observer.recovered();
  }

  async function settleFirst(): Promise<void> {
    await storage.settle(...(verdicts[0] as [C, Verdict]));
    verdicts.shift();
  }

  async function moveConvoy(): Promise<void> {
    const convoy = line.peek(CONVOY);
    const arrivals = await Promise.allSettled(convoy.map(carry));
    for (const [nth, arrival] of arrivals.entries()) {
      if (arrival.status === "rejected") throw arrival.reason;
      if (arrival.value === "full") observer.dropped((convoy[nth] as Guest).event, "full");
    }
  }

  return {
    get trouble() {
      return trouble;
    },
    get length() {
      return line.length;
    },
    get oldest() {
      return line.first?.event.createdAt ?? null;
    },
    async add(event) {
      if (ids.has(event.id)) return "duplicate";
      const guest = enter(event);
      if (!guest) return "full";
      if (trouble) {
        stay(guest);
        return "sheltered";
      }
      try {
        return await carry(guest);
      } catch (error) {
        fallIll(error);
        return "sheltered";
      }
    },
    async claim(capacity) {
      if (trouble) return [];
      try {
        return await storage.claim(capacity);
      } catch (error) {
        fallIll(error);
        return [];
      }
    },
    async settle(claim, verdict) {
      if (!trouble) {
        try {
          return await storage.settle(claim, verdict);
        } catch (error) {
          fallIll(error);
        }
      }
      verdicts.push([claim, verdict]);
    },
    async close() {
      closed = true;
      cancelLook();
      if (trouble) await recover();
    },
  };
}
