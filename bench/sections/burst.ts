import { compare } from "../carriers.js";
import { start } from "../child.js";
import type { Bench, Row } from "../report.js";
import type { ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";

const CARRIERS = ["undici", "memory", "disk, storing"] as const;

/**
 * As many payments as bare undici delivers in 2 s, and at least which share of its rate the disk
 * outbox has.
 */
const CASES = [
  { answersInMs: 20, events: 600, least: 0.9 },
  { answersInMs: 5, events: 2_400, least: 0.75 },
] as const;

/**
 * How fast a process that has just started delivers a burst: nothing is compiled or connected yet.
 */
export async function benchBurst({ report, quick }: Bench): Promise<void> {
  const service = await start<ServiceReport>("service");
  const rows: Row[] = [];
  for (const { answersInMs, events, least } of CASES) {
    await service.report({ answersInMs });
    const { ofOther, rowOf } = await compare({
      report,
      rounds: quick ? 1 : 5,
      what: `burst, answers in ${answersInMs} ms`,
      carriers: CARRIERS,
      howOf: () => ({
        service: service.ready.url,
        events: quick ? events / 10 : events,
        warmUp: 0,
        sockets: SOCKETS_OF_AN_ENDPOINT,
        concurrency: SOCKETS,
      }),
    });
    for (const carrier of CARRIERS) rows.push({ answers: `in ${answersInMs} ms`, ...rowOf(carrier) });
    const aim = `a burst of 2 s in a new process, answers in ${answersInMs} ms, disk: rate, of bare undici's`;
    report.aims.atLeast(least, ofOther("disk, storing", "eventsPerSecond"), aim);
  }
  await service.end();
  report.section(
    "A burst in a new process",
    `As many payments as bare undici delivers in 2 s, ${SOCKETS_OF_AN_ENDPOINT} requests at a time. The process has just started, and has ` +
      "been handed all of them in one turn of its event loop.",
    rows,
  );
}
