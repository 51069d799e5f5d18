import type { EventKind, OutboxEvent } from "../events.js";
import { byKind } from "../kinds.js";
import { type InLine, Line } from "../shared/line.js";
import type { OpenReceipt } from "./receipts.js";
import { shedFor, sizeOf } from "./shedding.js";
import type { Spool } from "./spool.js";

/** An event in memory. */
export interface Pending extends InLine<Pending> {
  readonly event: OutboxEvent;
  readonly size: number;
  sheddable: SheddableEvent | undefined;
  /** The receipt that its reporter waits for; `undefined` where it was answered at once. */
  receipt: OpenReceipt | undefined;
  /** The call that stores it at this moment. */
  storing: Promise<void> | undefined;
  /** Whether it waits in the storage for the end of a host's transaction. */
  isWaiting: boolean;
  /** Called when it begins to wait there. */
  onWaiting: (() => void) | undefined;
}

/** A pending event in the list of its kind that may be shed: all but those on their way to the storage. */
interface SheddableEvent extends InLine<SheddableEvent> {
  readonly pending: Pending;
  readonly size: number;
}

/** The events that are on their way to a storage, or wait for it, in the order in which they came. Bounded in bytes. */
export class PendingEvents {
  readonly #line = new Line<Pending>();
  readonly #sheddable: Record<EventKind, Line<SheddableEvent>> = byKind(() => new Line());
  // By both: two destinations may have the same id.
  readonly #keys = new Set<string>();
  readonly #maxBytes: number;
  readonly #spool: Spool | undefined;
  readonly #onShed: (event: OutboxEvent) => void;
  #bytes = 0;

  constructor(options: {
    readonly maxBytes: number;
    readonly spool: Spool | undefined;
    readonly onShed: (event: OutboxEvent) => void;
  }) {
    this.#maxBytes = options.maxBytes;
    this.#spool = options.spool;
    this.#onShed = options.onShed;
  }

  get length(): number {
    return this.#line.length;
  }

  get first(): Pending | undefined {
    return this.#line.first;
  }

  has(event: OutboxEvent): boolean {
    return this.#keys.has(eventKeyOf(event));
  }

  /** `undefined` where there is no space for it, and none can be made. */
  enter(event: OutboxEvent): Pending | undefined {
    const size = sizeOf(event);
    if (!this.#makeSpace(event.kind, size)) return undefined;
    const pending: Pending = {
      event,
      size,
      sheddable: undefined,
      receipt: undefined,
      storing: undefined,
      isWaiting: false,
      onWaiting: undefined,
      before: undefined,
      after: undefined,
    };
    this.#line.join(pending);
    this.#keys.add(eventKeyOf(event));
    this.#bytes += size;
    this.#spool?.add(event);
    return pending;
  }

  leave(pending: Pending): void {
    this.#line.leave(pending);
    this.forbidShedding(pending);
    this.#keys.delete(eventKeyOf(pending.event));
    this.#bytes -= pending.size;
    this.#spool?.remove(pending.event);
  }

  /** The event may be shed for a more important one from now on. */
  allowShedding(pending: Pending): void {
    pending.sheddable = { pending, size: pending.size, before: undefined, after: undefined };
    this.#sheddable[pending.event.kind].join(pending.sheddable);
  }

  /** The event may not be shed any more. */
  forbidShedding(pending: Pending): void {
    if (pending.sheddable) this.#sheddable[pending.event.kind].leave(pending.sheddable);
    pending.sheddable = undefined;
  }

  /** The first `limit` of them. */
  peek(limit: number): Pending[] {
    return this.#line.peek(limit);
  }

  /** The first `limit` of those that do not wait in the storage. */
  peekFree(limit: number): Pending[] {
    const free: Pending[] = [];
    for (let each = this.#line.first; each && free.length < limit; each = each.after) {
      if (!each.isWaiting) free.push(each);
    }
    return free;
  }

  /** Whether there is one that does not wait in the storage. */
  get hasFree(): boolean {
    return this.peekFree(1).length > 0;
  }

  #makeSpace(kind: EventKind, size: number): boolean {
    return shedFor(kind, {
      oldestFirst: (lower) => this.#sheddable[lower],
      isEnough: (_, freed) => this.#bytes - freed + size <= this.#maxBytes,
      shed: ({ pending }) => {
        this.leave(pending);
        this.#onShed(pending.event);
      },
    });
  }
}

function eventKeyOf({ id, destination }: OutboxEvent): string {
  return `${id} ${destination}`;
}
