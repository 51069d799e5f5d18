import { resultOf, start } from "../child.js";
import type { DeliveryArgument, DeliveryReport } from "../delivery.js";
import { type Bench, micros, type Row, ratio, round } from "../report.js";
import type { Conduct, ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";
import { medianOf } from "../statistics.js";

const CARRIERS = ["undici", "memory", "disk, storing"] as const;
type Measured = Readonly<Record<(typeof CARRIERS)[number], DeliveryReport>>;

/** As many payments as bare undici delivers in 2 s, and at least which share of its rate the disk outbox has. */
const CASES = [
  { answersInMs: 20, events: 600, least: 0.9 },
  { answersInMs: 5, events: 2_400, least: 0.75 },
] as const;

/** How fast a process that has just started delivers a burst: nothing is compiled or connected yet. */
export async function benchBurst({ report, quick }: Bench): Promise<void> {
  const rounds = quick ? 1 : 5;
  const service = await start<ServiceReport>("service");
  const rows: Row[] = [];
  for (const { answersInMs, events, least } of CASES) {
    await service.report({ answersInMs } satisfies Conduct);
    const measured: Measured[] = [];
    for (let nth = 1; nth <= rounds; nth++) {
      report.progress(`burst, answers in ${answersInMs} ms, round ${nth} of ${rounds}`);
      measured.push(await measure(service.ready.url, quick ? events / 10 : events));
    }
    const of = (carrier: keyof Measured, column: "eventsPerSecond" | "cpuMicros") =>
      medianOf(measured, (each) => each[carrier][column]);
    const ofUndicis = (carrier: keyof Measured, column: "eventsPerSecond" | "cpuMicros") =>
      medianOf(measured, (each) => each[carrier][column] / each.undici[column]);
    for (const carrier of CARRIERS) {
      rows.push({
        answers: `in ${answersInMs} ms`,
        carrier,
        "events/s": round(of(carrier, "eventsPerSecond")),
        "of undici": ratio(ofUndicis(carrier, "eventsPerSecond")),
        "µs of processor": micros(of(carrier, "cpuMicros")),
        "times undici's": ratio(ofUndicis(carrier, "cpuMicros")),
      });
    }
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
    resultOf<DeliveryReport, DeliveryArgument>("delivery", {
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
