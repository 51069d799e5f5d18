import type { OutboxEvent } from "../events.js";

/** Where events are kept on their way to the storage, so that they survive the end of the process. */
export interface Spool {
  /** Keeps an event. Does so before it returns: the visitor may get the response at once. */
  add(event: OutboxEvent): void;
  /** The event is stored, or was dropped. */
  remove(event: OutboxEvent): void;
  /** Whether it has all events that were added and not removed. */
  readonly isWhole: boolean;
}
