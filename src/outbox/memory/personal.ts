import { setImmediate } from "../../shared/real-timers.js";
import type { CancelOutcome } from "../outbox.js";
import { type PersonalEvent, type PersonalStorage, personalEventOf } from "../personal-data.js";
import type { DeadLetterBox } from "./dead-letters.js";
import type { Entry } from "./entry.js";
import type { KnownIds } from "./known-ids.js";
import type { Queue } from "./queue.js";
import type { Scheduled } from "./scheduled.js";

const AT_ONCE = 1_000;

/** The search for a person's events in memory. Requests go on between two pages. */
export function createPersonal(parts: {
  queue: Queue;
  scheduled: Scheduled;
  dead: DeadLetterBox;
  ids: KnownIds;
  /** Removes a live event. */
  remove: (entry: Entry) => void;
  cancel: (id: string) => CancelOutcome;
}): PersonalStorage {
  const { queue, scheduled, dead, ids, remove, cancel } = parts;

  async function* someAtOnce<T>(
    all: readonly T[],
    read: (each: T) => PersonalEvent,
  ): AsyncGenerator<PersonalEvent[]> {
    for (let nth = 0; nth < all.length; nth += AT_ONCE) {
      yield all.slice(nth, nth + AT_ONCE).map(read);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  return {
    async *pages() {
      yield* someAtOnce(scheduled.events, (event) => personalEventOf(event, "waiting"));
      yield* someAtOnce([...queue], ({ event, underWay }) =>
        personalEventOf(event, underWay ? "under-way" : "waiting"),
      );
      yield* someAtOnce(dead.events, (event) => personalEventOf(event, "dead"));
    },
    async remove(_, found) {
      const wanted = found.map(({ id }) => id);
      const left = new Set(wanted);
      for (const id of wanted) {
        if (scheduled.has(id)) cancel(id);
        else {
          const letter = dead.take(id);
          if (!letter) continue;
          ids.retire(id, letter.letter.kind);
        }
        left.delete(id);
      }
      for (const entry of [...queue]) {
        const { id, kind } = entry.event;
        if (entry.underWay || !left.delete(id)) continue;
        remove(entry);
        ids.retire(id, kind);
      }
      return wanted.length - left.size;
    },
  };
}
