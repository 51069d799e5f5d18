import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Clock } from "../shared/clock.js";
import type { Affiliate } from "../tracker.js";
import { shownText } from "./dead-letters.js";
import { recordRecent } from "./recent.js";

/** What the page shows, without the dead letters. Does no I/O. */
export function createState(tracker: Pick<Affiliate, "stats" | "on">, clock: Clock) {
  const recent = recordRecent(tracker, clock);
  const self = { id: randomUUID(), name: `${hostname()}, process ${process.pid}`, since: clock.now() };

  return function state() {
    const { queued, scheduled, oldestMs, waiting, dead, trouble, ...ofProcess } = tracker.stats();
    return {
      outbox: { queued, scheduled, oldestMs, waiting, dead, trouble: trouble && shownText(trouble) },
      process: {
        ...self,
        ...ofProcess,
        lastHour: recent.lastHour(),
        failures: recent.failures().map(({ because, ...failure }) => {
          return { ...failure, because: shownText(because) };
        }),
      },
    };
  };
}
