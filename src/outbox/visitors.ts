import type { Attribution } from "../events.js";

/** An event's place among its visitor's: what `VisitorOrder` writes into it. */
export interface Place {
  waitsFor: number;
  followers: Place[];
}

/**
 * Who may go before whom: an event waits for every earlier one that shares its click id or its session id.
 * Each knows only its immediate followers, so that coming and going cost the same however many there are.
 */
export class VisitorOrder<Entry extends Place> {
  readonly #lastOfClick = new Map<string, Entry>();
  readonly #lastOfSession = new Map<string, Entry>();

  /** Takes its place behind the visitor's earlier events. Returns whether there are none. */
  enter(entry: Entry, { clickId, sessionId }: Attribution): boolean {
    if (clickId !== undefined) follow(this.#lastOfClick, clickId, entry);
    if (sessionId !== undefined) follow(this.#lastOfSession, sessionId, entry);
    return entry.waitsFor === 0;
  }

  /** Steps out from the front. Returns those whose turn it is now. */
  leave(entry: Entry, { clickId, sessionId }: Attribution): Entry[] {
    if (clickId !== undefined && this.#lastOfClick.get(clickId) === entry) this.#lastOfClick.delete(clickId);
    if (sessionId !== undefined && this.#lastOfSession.get(sessionId) === entry) {
      this.#lastOfSession.delete(sessionId);
    }
    return (entry.followers as Entry[]).filter((follower) => --follower.waitsFor === 0);
  }
}

function follow<Entry extends Place>(last: Map<string, Entry>, id: string, entry: Entry): void {
  const before = last.get(id);
  if (before) {
    before.followers.push(entry);
    entry.waitsFor++;
  }
  last.set(id, entry);
}
