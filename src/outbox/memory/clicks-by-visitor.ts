import type { OutboxEvent } from "../../events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { Entry } from "./entry.js";

/** The live clicks of each visitor, so that a flood of one visitor's clicks sheds no other visitor's events. */
export class ClicksByVisitor {
  // Most visitors have one: it needs no set around it.
  readonly #clicks = new Map<string, Entry | Set<Entry>>();

  /** The visitor's oldest click, to be shed for this one; `undefined` where the visitor has few. */
  clickToShed(event: OutboxEvent): Entry | undefined {
    const clicks = this.#clicks.get(visitorKeyOf(event));
    if (!(clicks instanceof Set) || clicks.size < CLICKS_OF_A_VISITOR) return undefined;
    for (const each of clicks) if (!each.underWay) return each;
    return undefined;
  }

  add(entry: Entry): void {
    const key = visitorKeyOf(entry.event);
    const clicks = this.#clicks.get(key);
    if (clicks instanceof Set) clicks.add(entry);
    else this.#clicks.set(key, clicks ? new Set([clicks, entry]) : entry);
  }

  remove(entry: Entry): void {
    const key = visitorKeyOf(entry.event);
    const clicks = this.#clicks.get(key);
    if (clicks === entry || (clicks instanceof Set && clicks.delete(entry) && clicks.size === 0))
      this.#clicks.delete(key);
  }
}

/** A session outlives the clicks in it, each of which has a click id of its own. */
function visitorKeyOf({ id, data }: OutboxEvent): string {
  return data.sessionId ?? data.clickId ?? id;
}
