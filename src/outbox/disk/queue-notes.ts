import type { Endpoint } from "../../kinds.js";
import type { Cache } from "./cache.js";
import type { NewRow } from "./rows.js";

/** What was looked up in the visitors' queues: so that no statement asks again for what is not there. */
export function createQueueNotes(cache: Cache) {
  const lookedUp = cache.lookedUp(() => ({
    /** Whether an event may have become ready or more urgent since this process last claimed. */
    hasChanged: true,
    /** The next events to enter a queue. */
    upcoming: [] as NewRow[],
    /** Whether an event may wait behind another in a queue. */
    anyBehind: undefined as boolean | undefined,
    /** Whether any queue may hold an event. */
    anyQueued: undefined as boolean | undefined,
    /** By destination: whether an event may have been tried. */
    anyTried: new Map<number, boolean>(),
    /** Destinations, endpoints and urgencies without an event that is ready and was never tried. */
    withoutReady: new Set<string>(),
    /** By destination and kind: the last event that had entered no queue. */
    lastNew: new Map<string, number>(),
  }));

  return {
    /** For the queues, which keep them. */
    all: lookedUp,
    /** Whether an event may be ready that was never tried. */
    mayBeReady: (destination: number, endpoint: Endpoint, urgency: number): boolean =>
      !lookedUp().withoutReady.has(laneKeyOf(destination, endpoint, urgency)),
    /** Whether an event of a destination may have been tried. `look` asks the file. */
    mayBeTried(destination: number, look: () => boolean): boolean {
      const { anyTried } = lookedUp();
      const has = anyTried.get(destination) ?? look();
      anyTried.set(destination, has);
      return has;
    },
    /** An event was tried, and rests. */
    noteTried(destination: number): void {
      const own = lookedUp();
      own.anyQueued = true;
      own.anyTried.set(destination, true);
    },
    /** Perhaps no event is left that was tried. */
    forgetTried: (destination: number): void => void lookedUp().anyTried.delete(destination),
    /** Any event may have left: the next to enter a queue are read again. */
    forgetUpcoming(): void {
      lookedUp().upcoming = [];
    },
    /** Whether it is known that no queue holds an event. */
    get areEmpty(): boolean {
      return lookedUp().anyQueued === false;
    },
    /** Whether an event may have become ready or more urgent since this process last claimed. */
    get haveChanged(): boolean {
      return lookedUp().hasChanged;
    },
    noteChanged(): void {
      lookedUp().hasChanged = true;
    },
    /** A claim was made. `haveChanged`: another one may find more at once. */
    noteClaimed(haveChanged: boolean): void {
      lookedUp().hasChanged = haveChanged;
    },
    /** All that were ready and never tried have been claimed. */
    noteNoneReady: (destination: number, endpoint: Endpoint, urgency: number): void =>
      void lookedUp().withoutReady.add(laneKeyOf(destination, endpoint, urgency)),
  };
}

export const laneKeyOf = (destination: number, endpoint: Endpoint, urgency: number) =>
  `${destination} ${endpoint} ${urgency}`;
