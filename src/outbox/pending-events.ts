import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { byKind } from "../conversion/kinds.js";
import { LinkedList, type ListLinks } from "../shared/linked-list.js";
import type { OpenReceipt } from "./receipts.js";
import { shedFor, sizeOf } from "./shedding.js";

export interface Pending extends ListLinks<Pending>, ListLinks<Pending, "sheddableBefore", "sheddableAfter"> {
  readonly event: OutboxEvent;
  readonly size: number;
  /** It is not on its way to the storage. */
  isSheddable: boolean;
  /** What its reporter waits for; `undefined` if it was answered at once. */
  receipt: OpenReceipt | undefined;
  /** The call that stores it now. */
  storing: Promise<void> | undefined;
  /** It waits in the storage for a host's open transaction. */
  isWaiting: boolean;
  /** Called when that wait begins. */
  onWaiting: (() => void) | undefined;
}

/** Keeps events on their way to the storage, so that they survive the end of the process. */
export interface Spool {
  /** Has kept the event when it returns: the visitor may get the response at once. */
  add(event: OutboxEvent): void;
  /** The event is stored, or was dropped. */
  remove(event: OutboxEvent): void;
  /** Whether it has all events that were added and not removed. */
  readonly isWhole: boolean;
}

interface PendingOptions {
  readonly maxBytes: number;
  readonly spool: Spool | undefined;
  readonly onShed: (event: OutboxEvent) => void;
}

/** Events on their way to a storage, or waiting for it, in order, bounded in bytes. */
export class PendingEvents {
  readonly #all = new LinkedList<Pending>();
  readonly #sheddable = byKind(
    () => new LinkedList<Pending, "sheddableBefore", "sheddableAfter">("sheddableBefore", "sheddableAfter"),
  );
  readonly #ids = new Set<string>();
  readonly #options: PendingOptions;
  #bytes = 0;

  constructor(options: PendingOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#all.length;
  }

  get first(): Pending | undefined {
    return this.#all.first;
  }

  has({ id }: OutboxEvent): boolean {
    return this.#ids.has(id);
  }

  /** `undefined` if no space can be made for it. */
  add(event: OutboxEvent): Pending | undefined {
    const size = sizeOf(event);
    if (!this.#makeSpace(event.kind, size)) return undefined;
    const pending: Pending = {
      event,
      size,
      isSheddable: false,
      receipt: undefined,
      storing: undefined,
      isWaiting: false,
      onWaiting: undefined,
      before: undefined,
      after: undefined,
      sheddableBefore: undefined,
      sheddableAfter: undefined,
    };
    this.#all.append(pending);
    this.#ids.add(event.id);
    this.#bytes += size;
    this.#options.spool?.add(event);
    return pending;
  }

  remove(pending: Pending): void {
    this.#all.remove(pending);
    this.forbidShedding(pending);
    this.#ids.delete(pending.event.id);
    this.#bytes -= pending.size;
    this.#options.spool?.remove(pending.event);
  }

  allowShedding(pending: Pending): void {
    pending.isSheddable = true;
    this.#sheddable[pending.event.kind].append(pending);
  }

  forbidShedding(pending: Pending): void {
    if (pending.isSheddable) this.#sheddable[pending.event.kind].remove(pending);
    pending.isSheddable = false;
  }

  get all(): Pending[] {
    return [...this.#all];
  }

  /** The first events that no open transaction of the host holds up. */
  firstFree(limit: number): Pending[] {
    const free: Pending[] = [];
    for (let each = this.#all.first; each && free.length < limit; each = each.after) {
      if (!each.isWaiting) free.push(each);
    }
    return free;
  }

  #makeSpace(kind: EventKind, size: number): boolean {
    return shedFor(kind, {
      oldestFirst: (lower) => this.#sheddable[lower],
      isEnough: (_, freed) => this.#bytes - freed + size <= this.#options.maxBytes,
      shed: (pending) => {
        this.remove(pending);
        this.#options.onShed(pending.event);
      },
    });
  }
}
