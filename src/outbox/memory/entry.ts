import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { endpointOf } from "../../service/endpoints.js";
import type { History, Lane } from "../claim.js";
import type { ClaimStep } from "../claim-steps.js";
import { sizeOf } from "../shedding.js";
import { isHead } from "./visitor-queues.js";

const NO_LANE: Lane = { endpoint: "click", limit: 0 };

/** An event and its neighbours in lists. Many wait, so what can be computed has no field. */
export class Entry {
  readonly event: OutboxEvent;
  readonly queuedAt: number;
  readonly size: number;
  history: History;
  urgency: EventKind;
  lane = NO_LANE;
  /** Since when it has been a head with this urgency, in milliseconds since the epoch. */
  since: number;
  cancelRest: (() => void) | undefined = undefined;
  /** In which list of heads it is, unless it is under way or waits for another. */
  which: ClaimStep["which"] | "resting" | undefined = undefined;
  headBefore: Entry | undefined = undefined;
  headAfter: Entry | undefined = undefined;
  before: Entry | undefined = undefined;
  after: Entry | undefined = undefined;
  urgencyBefore: Entry | undefined = undefined;
  urgencyAfter: Entry | undefined = undefined;
  clickBefore: Entry | undefined = undefined;
  clickAfter: Entry | undefined = undefined;
  sessionBefore: Entry | undefined = undefined;
  sessionAfter: Entry | undefined = undefined;

  constructor(event: OutboxEvent, history: History, queuedAt: number) {
    this.event = event;
    this.history = history;
    this.queuedAt = queuedAt;
    this.since = queuedAt;
    this.urgency = event.kind;
    this.size = sizeOf(event);
  }

  get endpoint() {
    return endpointOf(this.event);
  }

  /** Nothing in memory outlives its process. */
  get interrupted() {
    return false;
  }

  get underWay(): boolean {
    return this.which === undefined && isHead(this);
  }
}
