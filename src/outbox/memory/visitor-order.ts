import type { Attribution } from "../../events.js";
import type { InLine } from "../../shared/line.js";

/** An event's place in one of its lines. */
export interface Spot<Entry> extends InLine<Spot<Entry>> {
  readonly entry: Entry;
}

/** An event's places among its visitor's, in the line of either id: what `VisitorOrder` writes into it. */
export interface Place {
  byClick: Spot<this> | undefined;
  bySession: Spot<this> | undefined;
}

/**
 * Who may go before whom: an event waits for every earlier one that shares its click id or its session id.
 * Two lines for each visitor; coming and going cost the same however long they are.
 */
export class VisitorOrder<Entry extends Place> {
  readonly #lastOfClick = new Map<string, Spot<Entry>>();
  readonly #lastOfSession = new Map<string, Spot<Entry>>();

  /** Takes its place behind the visitor's earlier events. Returns whether there are none. */
  enter(entry: Entry, { clickId, sessionId }: Attribution): boolean {
    if (clickId !== undefined) entry.byClick = join(this.#lastOfClick, clickId, entry);
    if (sessionId !== undefined) entry.bySession = join(this.#lastOfSession, sessionId, entry);
    return isNext(entry);
  }

  /** Steps out, wherever it stands. Returns those whose turn it is now. */
  leave({ byClick, bySession }: Entry, { clickId, sessionId }: Attribution): Entry[] {
    const next: Entry[] = [];
    const behind = byClick && leave(this.#lastOfClick, clickId as string, byClick);
    const other = bySession && leave(this.#lastOfSession, sessionId as string, bySession);
    if (behind && isNext(behind)) next.push(behind);
    if (other && other !== behind && isNext(other)) next.push(other);
    return next;
  }
}

function isNext({ byClick, bySession }: Place): boolean {
  return byClick?.before === undefined && bySession?.before === undefined;
}

function join<Entry>(last: Map<string, Spot<Entry>>, id: string, entry: Entry): Spot<Entry> {
  const before = last.get(id);
  const spot: Spot<Entry> = { entry, before, after: undefined };
  if (before) before.after = spot;
  last.set(id, spot);
  return spot;
}

/** Returns the event that is now the first in this line and was not before. */
function leave<Entry>(last: Map<string, Spot<Entry>>, id: string, spot: Spot<Entry>): Entry | undefined {
  const { before, after } = spot;
  if (after) after.before = before;
  else if (before) last.set(id, before);
  else last.delete(id);
  if (before) before.after = after;
  return before ? undefined : after?.entry;
}
