import { type Compared, compare } from "../carriers.js";
import { start } from "../child.js";
import { PARTS } from "../profile.js";
import { type Bench, micros, type Row, ratio } from "../report.js";
import type { ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";
import { medianOf } from "../statistics.js";

const CARRIERS = ["undici", "memory", "disk"] as const;

interface Case {
  readonly answersInMs: number;
  readonly events: number;
  /** At least so much of the rate of bare undici. */
  readonly least?: Readonly<Record<"memory" | "disk", number>>;
  /** At most so many times its processor time. */
  readonly mostCpu?: number;
}

const CASES: readonly Case[] = [
  { answersInMs: 20, events: 2_000, least: { memory: 0.98, disk: 0.9 }, mostCpu: 3 },
  { answersInMs: 5, events: 5_000, least: { memory: 0.93, disk: 0.75 } },
  { answersInMs: 0, events: 20_000 },
];

/**
 * How fast payments are delivered to a service that takes some milliseconds to answer, and where
 * the time goes.
 */
export async function benchAnswers({ report, quick }: Bench): Promise<void> {
  const { aims } = report;
  const service = await start<ServiceReport>("service");
  const rows: Row[] = [];
  const profiles: [when: string, measured: readonly Compared[]][] = [];
  for (const { answersInMs, events: all, least, mostCpu } of CASES) {
    await service.report({ answersInMs });
    const when = answersInMs === 0 ? "at once" : `in ${answersInMs} ms`;
    const events = quick ? all / 40 : all;
    const { measured, of, ofOther, rowOf } = await compare({
      report,
      rounds: quick ? 1 : 3,
      what: `answers ${when}`,
      carriers: [...CARRIERS, "disk, profiled"],
      howOf: () => ({
        service: service.ready.url,
        events,
        warmUp: events,
        sockets: SOCKETS_OF_AN_ENDPOINT,
        concurrency: SOCKETS,
      }),
    });
    profiles.push([when, measured]);
    for (const carrier of CARRIERS) {
      rows.push({
        answers: when,
        ...rowOf(carrier),
        "flushes an event": carrier === "disk" ? ratio(of(carrier, "transactions")) : "",
      });
      if (carrier === "undici" || !least) continue;
      const aim = `payments, answers ${when}, ${carrier}: rate, of bare undici's`;
      aims.atLeast(least[carrier], ofOther(carrier, "eventsPerSecond"), aim);
    }
    if (mostCpu === undefined) continue;
    const aim = `payments, answers ${when}, disk: processor time an event, of bare undici's`;
    aims.atMost(mostCpu, ofOther("disk", "cpuMicros"), aim);
  }
  await service.end();
  report.section(
    "Answers",
    `Payments that wait, to a service that answers after some time, ${SOCKETS_OF_AN_ENDPOINT} requests at a time (the default). ` +
      "`µs of processor` is the time of all threads of the process for an event. What is a share of undici's is a share within " +
      "the same round. A transaction that writes is one flush.",
    rows,
  );
  report.section(
    "The disk outbox's thread",
    "Microseconds of its time for each of these events, by V8's profiler: `flush` is the commit, which waits for the disk; `SQLite` is " +
      "all other statements.",
    PARTS.map((part) => ({
      part,
      ...Object.fromEntries(
        profiles.map(([when, measured]) => [
          `answers ${when}`,
          micros(medianOf(measured, (each) => each["disk, profiled"].parts?.[part] ?? Number.NaN)),
        ]),
      ),
    })),
  );
}
