import { type OutboxEvent, visitorOf } from "../../conversion/events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { Entry } from "./entry.js";

/** Each visitor's live clicks: a flood of one visitor's clicks must not shed another's events. */
export class ClicksByVisitor {
  // Most visitors have one click: it needs no set around it.
  readonly #clicks = new Map<string, Entry | Set<Entry>>();

  /** The visitor's oldest click, to be shed for this one, unless the visitor has few. */
  clickToShed(event: OutboxEvent): Entry | undefined {
    const clicks = this.#clicks.get(visitorOf(event));
    if (!(clicks instanceof Set) || clicks.size < CLICKS_OF_A_VISITOR) return undefined;
    for (const each of clicks) if (!each.underWay) return each;
    return undefined;
  }

  add(entry: Entry): void {
    const key = visitorOf(entry.event);
    const clicks = this.#clicks.get(key);
    if (clicks instanceof Set) clicks.add(entry);
    else this.#clicks.set(key, clicks ? new Set([clicks, entry]) : entry);
  }

  remove(entry: Entry): void {
    const key = visitorOf(entry.event);
    const clicks = this.#clicks.get(key);
    if (clicks === entry || (clicks instanceof Set && clicks.delete(entry) && clicks.size === 0))
      this.#clicks.delete(key);
  }
}
