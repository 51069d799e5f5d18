import { setImmediate } from "../../shared/real-timers.js";
import type { CancelOutcome } from "../outbox.js";
import { type PersonalStorage, personalEventOf } from "../personal-data.js";
import type { DeadLetterBox } from "./dead-letters.js";
import type { Entry } from "./entry.js";
import type { Queue } from "./queue.js";
import type { Scheduled } from "./scheduled.js";

const AT_ONCE = 1_000;

/** Requests go on between two pages. */
export function createPersonal(parts: {
  queue: Queue;
  scheduled: Scheduled;
  dead: DeadLetterBox;
  erase: (entry: Entry) => void;
  discard: (id: string) => boolean;
  cancel: (id: string) => CancelOutcome;
}): PersonalStorage {
  const { queue, scheduled, dead, erase, discard, cancel } = parts;

  return {
    async *pages() {
      // As they are at one moment: a dead letter that is retried meanwhile is not missed.
      const all = [
        ...scheduled.events.map((event) => personalEventOf(event, "waiting")),
        ...Array.from(queue, ({ event, underWay }) =>
          personalEventOf(event, underWay ? "under-way" : "waiting"),
        ),
        ...dead.events.map((event) => personalEventOf(event, "dead")),
      ];
      for (let nth = 0; nth < all.length; nth += AT_ONCE) {
        yield all.slice(nth, nth + AT_ONCE);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
    async remove(found) {
      const left = new Set(found.map(({ id }) => id));
      for (const id of left) {
        if (scheduled.has(id) ? cancel(id) : discard(id)) left.delete(id);
      }
      for (const entry of [...queue]) {
        if (!entry.underWay && left.delete(entry.event.id)) erase(entry);
      }
      return found.length - left.size;
    },
  };
}
