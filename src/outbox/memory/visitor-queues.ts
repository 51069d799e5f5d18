import type { Attribution } from "../../conversion/visitor-ids.js";

/** An event's neighbours with the same click id or session id. `VisitorQueues` sets them. */
export interface QueueLinks {
  clickBefore: this | undefined;
  clickAfter: this | undefined;
  sessionBefore: this | undefined;
  sessionAfter: this | undefined;
}

type Before = "clickBefore" | "sessionBefore";
type After = "clickAfter" | "sessionAfter";

/**
 * An event waits for every earlier one that shares its click id or its session id. Each visitor has
 * two lists. To add to them and to remove costs the same however long they are.
 */
export class VisitorQueues<Entry extends QueueLinks> {
  readonly #lastOfClick = new Map<string, Entry>();
  readonly #lastOfSession = new Map<string, Entry>();

  /** Returns whether the visitor has no earlier event. */
  enqueue(entry: Entry, { clickId, sessionId }: Attribution): boolean {
    if (clickId !== undefined) append(this.#lastOfClick, clickId, entry, "clickBefore", "clickAfter");
    if (sessionId !== undefined)
      append(this.#lastOfSession, sessionId, entry, "sessionBefore", "sessionAfter");
    return isHead(entry);
  }

  /** Returns the new heads. */
  remove(entry: Entry, { clickId, sessionId }: Attribution): Entry[] {
    const heads: Entry[] = [];
    const behind = clickId && remove(this.#lastOfClick, clickId, entry, "clickBefore", "clickAfter");
    const other = sessionId && remove(this.#lastOfSession, sessionId, entry, "sessionBefore", "sessionAfter");
    if (behind && isHead(behind)) heads.push(behind);
    if (other && other !== behind && isHead(other)) heads.push(other);
    return heads;
  }
}

export function isHead({ clickBefore, sessionBefore }: QueueLinks): boolean {
  return clickBefore === undefined && sessionBefore === undefined;
}

function append<Entry extends QueueLinks>(
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

/** Returns the event that is now the first of its list. */
function remove<Entry extends QueueLinks>(
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
