import type { OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import type { History, Lane } from "../outbox.js";
import { sizeOf } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import type { HeadLine } from "./heads.js";
import { isNext } from "./visitor-order.js";

const NO_LANE: Lane = { endpoint: "click", limit: 0 };

/** A live event in memory, with its neighbours in several lists. Many thousands wait, so what can be computed has no field. */
export class Entry {
  readonly event: OutboxEvent;
  readonly queuedAt: number;
  readonly size: number;
  history: History;
  urgency: Urgency;
  lane = NO_LANE;
  since: number;
  cancelRest: (() => void) | undefined = undefined;
  headLine: HeadLine<Entry> | undefined = undefined;
  headBefore: Entry | undefined = undefined;
  headAfter: Entry | undefined = undefined;
  before: Entry | undefined = undefined;
  after: Entry | undefined = undefined;
  equalBefore: Entry | undefined = undefined;
  equalAfter: Entry | undefined = undefined;
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
    return this.headLine === undefined && isNext(this);
  }
}
