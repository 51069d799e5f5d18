import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { byKind, isMoreUrgent, KINDS } from "../../conversion/kinds.js";
import { byEndpoint, endpointOf } from "../../service/endpoints.js";
import { LinkedList, type ListLinks } from "../../shared/linked-list.js";
import { type ClaimStep, claimStepsOf } from "../claim-steps.js";
import type { DeadLetter } from "../dead-letters.js";
import { type Capacity, CLICKS_OF_A_VISITOR, type History, type Lane, UNTRIED } from "../outbox.js";
import type { PersonalEvent } from "../personal-data.js";
import { sizeOf } from "../shedding.js";

/** An event that waits, is under way, or is a dead letter. Many wait: each field costs memory. */
export class Entry implements ListLinks<Entry> {
  readonly event: OutboxEvent;
  /** When it was retried by hand, in milliseconds since the epoch. */
  readonly retriedAt: number | undefined;
  history: History;
  /** In bytes, roughly. */
  size: number;
  /** Whose queue it is in. */
  visitor: Visitor | undefined = undefined;
  letter: DeadLetter | undefined = undefined;
  cancelTimer: (() => void) | undefined = undefined;
  before: Entry | undefined = undefined;
  after: Entry | undefined = undefined;

  constructor(event: OutboxEvent, history = UNTRIED, retriedAt?: number) {
    this.event = event;
    this.history = history;
    this.retriedAt = retriedAt;
    this.size = sizeOf(event);
  }

  get queuedAt(): number {
    return this.retriedAt ?? this.event.createdAt;
  }

  get state(): "scheduled" | PersonalEvent["state"] {
    if (this.letter) return "dead";
    if (!this.visitor) return "scheduled";
    return this.visitor.state === "claimed" && this.visitor.entries[0] === this ? "under-way" : "waiting";
  }
}

/** A visitor's queue, which has at least one event. */
class Visitor implements ListLinks<Visitor>, ListLinks<Visitor, "urgencyBefore", "urgencyAfter"> {
  /** In order. The first is the head. */
  readonly entries: Entry[];
  /** That of the most urgent event. It does not fall while the head stays. */
  urgency: EventKind;
  /** Since when the head has been the head, with this urgency, in milliseconds since the epoch. */
  since: number;
  /** Of the head. A `rested` one was tried, and may be tried again. */
  state: ClaimStep["which"] | "resting" | "claimed" = "untried";
  /** Of the queues whose heads may be claimed, those of its rank; none if this one's may not. */
  rank: LinkedList<Visitor> | undefined = undefined;
  before: Visitor | undefined = undefined;
  after: Visitor | undefined = undefined;
  urgencyBefore: Visitor | undefined = undefined;
  urgencyAfter: Visitor | undefined = undefined;

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
  readonly #visitors = { sessionId: new Map<string, Visitor>(), clickId: new Map<string, Visitor>() };
  /** By ids that are another visitor's: those that have such an event, too. */
  readonly #others = { sessionId: new Map<string, Set<Visitor>>(), clickId: new Map<string, Set<Visitor>>() };
  /** In the order in which they got their urgency, or their heads. */
  readonly #byUrgency = byKind(
    () => new LinkedList<Visitor, "urgencyBefore", "urgencyAfter">("urgencyBefore", "urgencyAfter"),
  );
  /** By urgency, the head's endpoint, and whether it was tried; in the order in which they came. */
  readonly #ranks = byKind(() =>
    byEndpoint(() => ({ untried: new LinkedList<Visitor>(), rested: new LinkedList<Visitor>() })),
  );
  readonly #onClaimable: () => void;

  /** Calls `onClaimable` when an event may have become ready. */
  constructor(onClaimable: () => void) {
    this.#onClaimable = onClaimable;
  }

  append(entry: Entry, now: number): void {
    const { kind, data } = entry.event;
    const { sessionId: bySession, clickId: byClick } = this.#visitors;
    const known = bySession.get(data.sessionId ?? "") ?? byClick.get(data.clickId ?? "");
    const visitor = known ?? new Visitor(entry);
    entry.visitor = visitor;
    known?.entries.push(entry);
    for (const name of NAMES) {
      const id = data[name];
      if (id === undefined) continue;
      const owner = this.#visitors[name].get(id);
      // An event that brings two visitors together leaves the other its id, as long as that one has it.
      if (!owner) this.#visitors[name].set(id, visitor);
      else if (owner !== visitor)
        this.#others[name].set(id, (this.#others[name].get(id) ?? new Set()).add(visitor));
    }
    if (!known) this.#rise(visitor, kind, visitor.since);
    else if (isMoreUrgent(kind, known.urgency)) {
      this.#leave(known);
      this.#rise(known, kind, now);
    }
  }

  /** It does not come back. */
  remove(entry: Entry, now: number): void {
    const visitor = entry.visitor as Visitor;
    const { entries } = visitor;
    const nth = entries.indexOf(entry);
    if (nth === 0) this.#leave(visitor);
    entries.splice(nth, 1);
    entry.visitor = undefined;
    for (const name of NAMES) {
      const id = entry.event.data[name];
      if (id !== undefined && !entries.some(({ event }) => event.data[name] === id))
        this.#giveUp(name, id, visitor);
    }
    if (nth > 0 || entries.length === 0) return;
    visitor.state = "untried";
    // None is more urgent: a long queue is not searched for that at each of its events.
    const possible = KINDS.slice(KINDS.indexOf(visitor.urgency));
    const urgency = possible.find((kind) => entries.some(({ event }) => event.kind === kind));
    this.#rise(visitor, urgency as EventKind, now);
  }

  /** The heads of queues, as the lanes allow. They are under way from now on. */
  claim({ limit, lanes }: Capacity, now: number): { readonly entry: Entry; readonly lane: Lane }[] {
    const claimed: { entry: Entry; lane: Lane }[] = [];
    for (const { place, urgency, which } of claimStepsOf(lanes)) {
      const { lane } = place;
      const { newestFirst, newWithinMs = Number.POSITIVE_INFINITY } = lane;
      const rank = this.#ranks[urgency][lane.endpoint][which];
      for (; claimed.length < limit && place.left > 0; place.left--) {
        const next = newestFirst && which === "untried" ? rank.last : rank.first;
        if (!next || now - next.since > newWithinMs) break;
        const [entry] = next.entries as [Entry];
        this.become(entry, "claimed");
        claimed.push({ entry, lane });
      }
    }
    return claimed;
  }

  /** Of the head of a queue. `atFront`: a claim finds it before others of its rank. */
  become(head: Entry, state: Visitor["state"], atFront = false): void {
    const visitor = head.visitor as Visitor;
    visitor.rank?.remove(visitor);
    visitor.rank = undefined;
    visitor.state = state;
    if (state === "resting" || state === "claimed") return;
    visitor.rank = this.#ranks[visitor.urgency][endpointOf(head.event)][state];
    if (atFront) visitor.rank.prepend(visitor);
    else visitor.rank.append(visitor);
    this.#onClaimable();
  }

  /** Events of this urgency that are not under way, those of the first queues first. */
  *unclaimed(urgency: EventKind): Generator<Entry> {
    for (const { entries } of this.#byUrgency[urgency])
      for (const entry of entries) if (entry.state === "waiting") yield entry;
  }

  /** The oldest click of this one's visitor, if the visitor has too many. */
  clickToShed({ visitor, event: { kind } }: Entry): Entry | undefined {
    if (kind !== "click" || !visitor || visitor.entries.length <= CLICKS_OF_A_VISITOR) return undefined;
    const clicks = visitor.entries.filter(({ event }) => event.kind === "click");
    return clicks.length > CLICKS_OF_A_VISITOR ? clicks.find(({ state }) => state === "waiting") : undefined;
  }

  /** It has no event with this id any more. */
  #giveUp(name: (typeof NAMES)[number], id: string, visitor: Visitor): void {
    const others = this.#others[name].get(id);
    if (this.#visitors[name].get(id) === visitor) {
      const [next] = others ?? [];
      if (next) this.#visitors[name].set(id, next);
      else this.#visitors[name].delete(id);
      others?.delete(next as Visitor);
    } else others?.delete(visitor);
    if (others?.size === 0) this.#others[name].delete(id);
  }

  #leave(visitor: Visitor): void {
    visitor.rank?.remove(visitor);
    visitor.rank = undefined;
    this.#byUrgency[visitor.urgency].remove(visitor);
  }

  #rise(visitor: Visitor, urgency: EventKind, since: number): void {
    visitor.urgency = urgency;
    visitor.since = since;
    this.#byUrgency[urgency].append(visitor);
    this.become(visitor.entries[0] as Entry, visitor.state);
  }
}
