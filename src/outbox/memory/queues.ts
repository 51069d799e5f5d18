import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { byKind, isMoreUrgent, KINDS } from "../../conversion/kinds.js";
import { byEndpoint, endpointOf } from "../../service/endpoints.js";
import { LinkedList, type ListLinks } from "../../shared/linked-list.js";
import { type ClaimStep, claimStepsOf } from "../claim-steps.js";
import type { DeadLetter } from "../dead-letters.js";
import { type Capacity, CLICKS_OF_A_VISITOR, type History, type Lane, UNTRIED } from "../outbox.js";
import type { PersonalEvent } from "../personal-data.js";
import { heapSizeOf } from "../shedding.js";

/** An event that waits, is under way, or is a dead letter. Many wait: each field costs memory. */
export class Entry implements ListLinks<Entry> {
  readonly event: OutboxEvent;
  /** When it was retried by hand, in milliseconds since the epoch. */
  readonly retriedAt: number | undefined;
  history: History;
  /** In bytes, roughly. */
  size: number;
  /** The queue it is in. */
  queue: Queue | undefined = undefined;
  letter: DeadLetter | undefined = undefined;
  cancelTimer: (() => void) | undefined = undefined;
  before: Entry | undefined = undefined;
  after: Entry | undefined = undefined;

  constructor(event: OutboxEvent, history = UNTRIED, retriedAt?: number) {
    this.event = event;
    this.history = history;
    this.retriedAt = retriedAt;
    this.size = heapSizeOf(event);
  }

  get queuedAt(): number {
    return this.retriedAt ?? this.event.createdAt;
  }

  get state(): "scheduled" | PersonalEvent["state"] {
    if (this.letter) return "dead";
    if (!this.queue) return "scheduled";
    return this.queue.state === "claimed" && this.queue.entries[0] === this ? "under-way" : "waiting";
  }
}

/** A visitor's queue, which has at least one event. */
class Queue implements ListLinks<Queue>, ListLinks<Queue, "urgencyBefore", "urgencyAfter"> {
  /** In order. The first is the head. */
  readonly entries: Entry[];
  /** That of the most urgent event. It does not fall while the head stays. */
  urgency: EventKind;
  /** Since when the head has been the head, with this urgency, in milliseconds since the epoch. */
  since: number;
  /** Of the head. A `rested` one was tried, and may be tried again. */
  state: ClaimStep["state"] | "resting" | "claimed" = "untried";
  /** Of the queues whose heads may be claimed, those of its rank; none if this one's may not. */
  rank: LinkedList<Queue> | undefined = undefined;
  before: Queue | undefined = undefined;
  after: Queue | undefined = undefined;
  urgencyBefore: Queue | undefined = undefined;
  urgencyAfter: Queue | undefined = undefined;

  constructor(first: Entry) {
    this.entries = [first];
    this.urgency = first.event.kind;
    this.since = first.queuedAt;
  }
}

const NAMES = ["sessionId", "clickId"] as const;

/** The queues of visitors. No operation costs more if many visitors wait. */
export class Queues {
  /** By the ids of their events. */
  readonly #byId = { sessionId: new Map<string, Queue>(), clickId: new Map<string, Queue>() };
  /** By ids that are another queue's: those that have such an event, too. */
  readonly #heirs = { sessionId: new Map<string, Set<Queue>>(), clickId: new Map<string, Set<Queue>>() };
  /** In the order in which they got their urgency, or their heads. */
  readonly #byUrgency = byKind(
    () => new LinkedList<Queue, "urgencyBefore", "urgencyAfter">("urgencyBefore", "urgencyAfter"),
  );
  /** By urgency, the head's endpoint, and whether it was tried; in the order in which they came. */
  readonly #ranks = byKind(() =>
    byEndpoint(() => ({ untried: new LinkedList<Queue>(), rested: new LinkedList<Queue>() })),
  );
  readonly #onClaimable: () => void;

  /** Calls `onClaimable` when an event may have become ready. */
  constructor(onClaimable: () => void) {
    this.#onClaimable = onClaimable;
  }

  append(entry: Entry, now: number): void {
    const { kind, data } = entry.event;
    const { sessionId: bySession, clickId: byClick } = this.#byId;
    const known = bySession.get(data.sessionId ?? "") ?? byClick.get(data.clickId ?? "");
    const queue = known ?? new Queue(entry);
    entry.queue = queue;
    known?.entries.push(entry);
    for (const name of NAMES) {
      const id = data[name];
      if (id === undefined) continue;
      const owner = this.#byId[name].get(id);
      // An event that brings two visitors together leaves the other its id, as long as that one has it.
      if (!owner) this.#byId[name].set(id, queue);
      else if (owner !== queue)
        this.#heirs[name].set(id, (this.#heirs[name].get(id) ?? new Set()).add(queue));
    }
    if (!known) this.#join(queue, kind, queue.since);
    else if (isMoreUrgent(kind, known.urgency)) {
      this.#leave(known);
      this.#join(known, kind, now);
    }
  }

  /** It does not come back. */
  remove(entry: Entry, now: number): void {
    const queue = entry.queue as Queue;
    const { entries } = queue;
    const nth = entries.indexOf(entry);
    if (nth === 0) this.#leave(queue);
    entries.splice(nth, 1);
    entry.queue = undefined;
    for (const name of NAMES) {
      const id = entry.event.data[name];
      if (id !== undefined && !entries.some(({ event }) => event.data[name] === id))
        this.#giveUp(name, id, queue);
    }
    if (nth > 0 || entries.length === 0) return;
    queue.state = "untried";
    // None is more urgent: a long queue is not searched for that at each of its events.
    const possible = KINDS.slice(KINDS.indexOf(queue.urgency));
    const urgency = possible.find((kind) => entries.some(({ event }) => event.kind === kind));
    this.#join(queue, urgency as EventKind, now);
  }

  /** The heads of queues, as the lanes allow. They are under way from now on. */
  claim({ limit, lanes }: Capacity, now: number): { readonly entry: Entry; readonly lane: Lane }[] {
    const claimed: { entry: Entry; lane: Lane }[] = [];
    for (const { quota, urgency, state } of claimStepsOf(lanes)) {
      const { lane } = quota;
      const { newestFirst, newWithinMs = Number.POSITIVE_INFINITY } = lane;
      const rank = this.#ranks[urgency][lane.endpoint][state];
      for (; claimed.length < limit && quota.left > 0; quota.left--) {
        const next = newestFirst && state === "untried" ? rank.last : rank.first;
        if (!next || now - next.since > newWithinMs) break;
        const [entry] = next.entries as [Entry];
        this.become(entry, "claimed");
        claimed.push({ entry, lane });
      }
    }
    return claimed;
  }

  /** Of the head of a queue. `atFront`: a claim finds it before others of its rank. */
  become(head: Entry, state: Queue["state"], atFront = false): void {
    const queue = head.queue as Queue;
    queue.rank?.remove(queue);
    queue.rank = undefined;
    queue.state = state;
    if (state === "resting" || state === "claimed") return;
    queue.rank = this.#ranks[queue.urgency][endpointOf(head.event)][state];
    if (atFront) queue.rank.prepend(queue);
    else queue.rank.append(queue);
    this.#onClaimable();
  }

  /** Events of this urgency that are not under way, those of the first queues first. */
  *unclaimed(urgency: EventKind): Generator<Entry> {
    for (const { entries } of this.#byUrgency[urgency])
      for (const entry of entries) if (entry.state === "waiting") yield entry;
  }

  /** The oldest click of this one's visitor, if the visitor has too many. */
  clickToShed({ queue, event: { kind } }: Entry): Entry | undefined {
    if (kind !== "click" || !queue || queue.entries.length <= CLICKS_OF_A_VISITOR) return undefined;
    const clicks = queue.entries.filter(({ event }) => event.kind === "click");
    return clicks.length > CLICKS_OF_A_VISITOR ? clicks.find(({ state }) => state === "waiting") : undefined;
  }

  /** It has no event with this id any more. */
  #giveUp(name: (typeof NAMES)[number], id: string, queue: Queue): void {
    const heirs = this.#heirs[name].get(id);
    if (this.#byId[name].get(id) === queue) {
      const [next] = heirs ?? [];
      if (next) this.#byId[name].set(id, next);
      else this.#byId[name].delete(id);
      heirs?.delete(next as Queue);
    } else heirs?.delete(queue);
    if (heirs?.size === 0) this.#heirs[name].delete(id);
  }

  #leave(queue: Queue): void {
    queue.rank?.remove(queue);
    queue.rank = undefined;
    this.#byUrgency[queue.urgency].remove(queue);
  }

  #join(queue: Queue, urgency: EventKind, since: number): void {
    queue.urgency = urgency;
    queue.since = since;
    this.#byUrgency[urgency].append(queue);
    this.become(queue.entries[0] as Entry, queue.state);
  }
}
