import { compared, deliver } from "../carriers.js";
import { start } from "../child.js";
import type { DeliveryReport } from "../delivery.js";
import type { Bench, Row } from "../report.js";
import type { Conduct, ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";

const CARRIERS = ["undici", "memory", "disk, storing"] as const;
type Measured = Readonly<Record<(typeof CARRIERS)[number], DeliveryReport>>;

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
  const rounds = quick ? 1 : 5;
  const service = await start<ServiceReport>("service");
  const rows: Row[] = [];
  for (const { answersInMs, events, least } of CASES) {
    await service.report({ answersInMs } satisfies Conduct);
    const measured = await report.rounds(rounds, `burst, answers in ${answersInMs} ms`, () =>
      measure(service.ready.url, quick ? events / 10 : events),
    );
    const { ofUndicis, rowOf } = compared(measured);
    for (const carrier of CARRIERS) rows.push({ answers: `in ${answersInMs} ms`, ...rowOf(carrier) });
    report.aims.atLeast(
      least,
      ofUndicis("disk, storing", "eventsPerSecond"),
      `a burst of 2 s in a new process, answers in ${answersInMs} ms, disk: rate, of bare undici's`,
    );
  }
  await service.end();
  report.section(
    "A burst in a new process",
    `As many payments as bare undici delivers in 2 s, ${SOCKETS_OF_AN_ENDPOINT} requests at a time. The process has just started, and has ` +
      "been handed all of them in one turn of its event loop.",
    rows,
  );
}

async function measure(service: string, events: number): Promise<Measured> {
  const one = (carrier: (typeof CARRIERS)[number]) =>
    deliver({
      carrier,
      service,
      events,
      warmUp: 0,
      sockets: SOCKETS_OF_AN_ENDPOINT,
      concurrency: SOCKETS,
    });
  return {
    undici: await one("undici"),
    memory: await one("memory"),
    "disk, storing": await one("disk, storing"),
  };
}
