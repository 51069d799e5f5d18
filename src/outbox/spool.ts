import type { OutboxEvent } from "../conversion/events.js";

/** Keeps events on their way to the storage, so that they survive the end of the process. */
export interface Spool {
  /** Has kept the event when it returns: the visitor may get the response at once. */
  add(event: OutboxEvent): void;
  /** The event is stored, or was dropped. */
  remove(event: OutboxEvent): void;
  /** Whether it has all events that were added and not removed. */
  readonly isWhole: boolean;
}
