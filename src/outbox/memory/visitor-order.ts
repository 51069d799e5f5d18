import type { Attribution } from "../../events.js";

/** An event's neighbours among those with its click id, and among those with its session id: what `VisitorOrder` writes into it. */
export interface Place {
  clickBefore: this | undefined;
  clickAfter: this | undefined;
  sessionBefore: this | undefined;
  sessionAfter: this | undefined;
}

type Before = "clickBefore" | "sessionBefore";
type After = "clickAfter" | "sessionAfter";

/**
 * Who may go before whom: an event waits for every earlier one that shares its click id or its session id.
 * Two lines for each visitor; coming and going cost the same however long they are.
 */
export class VisitorOrder<Entry extends Place> {
  readonly #lastOfClick = new Map<string, Entry>();
  readonly #lastOfSession = new Map<string, Entry>();

  /** Takes its place behind the visitor's earlier events. Returns whether there are none. */
  enter(entry: Entry, { clickId, sessionId }: Attribution): boolean {
    if (clickId !== undefined) join(this.#lastOfClick, clickId, entry, "clickBefore", "clickAfter");
    if (sessionId !== undefined) join(this.#lastOfSession, sessionId, entry, "sessionBefore", "sessionAfter");
    return isNext(entry);
  }

  /** Steps out, wherever it stands. Returns those whose turn it is now. */
  leave(entry: Entry, { clickId, sessionId }: Attribution): Entry[] {
    const next: Entry[] = [];
    const behind = clickId && leave(this.#lastOfClick, clickId, entry, "clickBefore", "clickAfter");
    const other = sessionId && leave(this.#lastOfSession, sessionId, entry, "sessionBefore", "sessionAfter");
    if (behind && isNext(behind)) next.push(behind);
    if (other && other !== behind && isNext(other)) next.push(other);
    return next;
  }
}

/** Whether it waits for no other. */
export function isNext({ clickBefore, sessionBefore }: Place): boolean {
  return clickBefore === undefined && sessionBefore === undefined;
}

function join<Entry extends Place>(
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

/** Returns the event that is now the first in this line and was not before. */
function leave<Entry extends Place>(
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
