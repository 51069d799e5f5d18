import { resultOf } from "../child.js";
import type { LoopDelayReport } from "../loop-delay.js";
import { type Bench, millis, round } from "../report.js";

/** What the event loop feels of the disk outbox. */
export async function benchLoopDelay({ report, quick }: Bench): Promise<void> {
  const events = quick ? 2_000 : 100_000;
  report.progress("delay of the event loop");
  const delayOf = (tracks: boolean) => resultOf<LoopDelayReport>("loop-delay", { events, tracks });
  const rows = [
    { what: "only made up", ...(await delayOf(false)) },
    { what: "handed over to disk", ...(await delayOf(true)) },
  ];
  report.section(
    "The event loop",
    `Its delay while ${round(events)} events are handed over to the disk outbox as fast as it stores them.`,
    rows.map(({ what, p99Ms, longestMs }) => ({
      events: what,
      "p99, ms": millis(p99Ms),
      "longest, ms": millis(longestMs),
    })),
  );
}
