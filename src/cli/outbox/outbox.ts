import type { Outbox, OutboxCounts } from "../../outbox/outbox.js";

/** An outbox that somebody looks into, while others deliver from it or nobody does. */
export interface OpenOutbox extends Pick<Outbox, "name" | "deadLetters" | "close"> {
  look(): Promise<OutboxCounts>;
}
