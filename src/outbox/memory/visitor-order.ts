import type { Attribution } from "../../events.js";

/** An event's neighbours with the same click id, and with the same session id. `VisitorOrder` sets them. */
export interface QueueLinks {
  clickBefore: this | undefined;
  clickAfter: this | undefined;
  sessionBefore: this | undefined;
  sessionAfter: this | undefined;
}

type Before = "clickBefore" | "sessionBefore";
type After = "clickAfter" | "sessionAfter";

/**
 * The visitors' queues: an event waits for every earlier one that shares its click id or its session id. Each visitor has two
 * lists; entering and leaving cost the same however long they are.
 */
export class VisitorOrder<Entry extends QueueLinks> {
  readonly #lastOfClick = new Map<string, Entry>();
  readonly #lastOfSession = new Map<string, Entry>();

  /** Adds an event behind the visitor's earlier ones. Returns whether there are none. */
  enter(entry: Entry, { clickId, sessionId }: Attribution): boolean {
    if (clickId !== undefined) join(this.#lastOfClick, clickId, entry, "clickBefore", "clickAfter");
    if (sessionId !== undefined) join(this.#lastOfSession, sessionId, entry, "sessionBefore", "sessionAfter");
    return isNext(entry);
  }

  /** Removes an event. Returns the new heads. */
  leave(entry: Entry, { clickId, sessionId }: Attribution): Entry[] {
    const next: Entry[] = [];
    const behind = clickId && leave(this.#lastOfClick, clickId, entry, "clickBefore", "clickAfter");
    const other = sessionId && leave(this.#lastOfSession, sessionId, entry, "sessionBefore", "sessionAfter");
    if (behind && isNext(behind)) next.push(behind);
    if (other && other !== behind && isNext(other)) next.push(other);
    return next;
  }
}

export function isNext({ clickBefore, sessionBefore }: QueueLinks): boolean {
  return clickBefore === undefined && sessionBefore === undefined;
}

function join<Entry extends QueueLinks>(
  last: Map<string, Entry>,
  id: string,
  entry: Entry,
  before: Before,
  after: After,
): void {
  const earlier = last.get(id);
  entry[before] = earlier;
  if (earlier) earlier[after] = entry;
  last.set(id, entry);
}

/** Returns the event that has become the first of its list. */
function leave<Entry extends QueueLinks>(
  last: Map<string, Entry>,
  id: string,
  entry: Entry,
  before: Before,
  after: After,
): Entry | undefined {
  const { [before]: earlier, [after]: later } = entry;
  if (later) later[before] = earlier;
  else if (earlier) last.set(id, earlier);
  else last.delete(id);
  if (earlier) earlier[after] = later;
  entry[before] = undefined;
  entry[after] = undefined;
  return earlier ? undefined : later;
}
