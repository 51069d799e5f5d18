import { compared, deliver } from "../carriers.js";
import { start } from "../child.js";
import type { DeliveryArgument, DeliveryReport } from "../delivery.js";
import { PARTS } from "../profile.js";
import { type Bench, micros, type Row, ratio } from "../report.js";
import type { Conduct, ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";
import { medianOf } from "../statistics.js";

const CARRIERS = ["undici", "memory", "disk"] as const;
type Measured = Readonly<Record<(typeof CARRIERS)[number] | "disk, profiled", DeliveryReport>>;

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
  const rounds = quick ? 1 : 3;
  const service = await start<ServiceReport>("service");
  const rows: Row[] = [];
  const profiles: [when: string, measured: readonly Measured[]][] = [];
  for (const { answersInMs, events, least, mostCpu } of CASES) {
    await service.report({ answersInMs } satisfies Conduct);
    const when = answersInMs === 0 ? "at once" : `in ${answersInMs} ms`;
    const measured = await report.rounds(rounds, `answers ${when}`, () =>
      measure({ service: service.ready.url, events: quick ? events / 10 : events }),
    );
    profiles.push([when, measured]);
    const { of, ofUndicis, rowOf } = compared(measured);
    for (const carrier of CARRIERS) {
      rows.push({
        answers: when,
        ...rowOf(carrier),
        "flushes an event": carrier === "disk" ? ratio(of(carrier, "transactions")) : "",
      });
      if (carrier !== "undici" && least)
        report.aims.atLeast(
          least[carrier],
          ofUndicis(carrier, "eventsPerSecond"),
          `payments, answers ${when}, ${carrier}: rate, of bare undici's`,
        );
    }
    if (mostCpu !== undefined)
      report.aims.atMost(
        mostCpu,
        ofUndicis("disk", "cpuMicros"),
        `payments, answers ${when}, disk: processor time an event, of bare undici's`,
      );
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

async function measure(how: Pick<DeliveryArgument, "service" | "events">): Promise<Measured> {
  const one = (carrier: (typeof CARRIERS)[number], isProfiled = false) =>
    deliver({
      ...how,
      carrier,
      warmUp: how.events,
      sockets: SOCKETS_OF_AN_ENDPOINT,
      concurrency: SOCKETS,
      isProfiled,
    });
  return {
    undici: await one("undici"),
    memory: await one("memory"),
    disk: await one("disk"),
    "disk, profiled": await one("disk", true),
  };
}
