import { resultOf, start } from "../child.js";
import type { Carrier, DeliveryArgument, DeliveryReport } from "../delivery.js";
import { SOCKETS_OF_AN_ENDPOINT } from "../payments.js";
import { type Bench, medianOf, type Row, ratio, round, tenths } from "../report.js";
import type { ServiceReport } from "../service.js";

interface Comparison extends Omit<DeliveryArgument, "service" | "carrier" | "events"> {
  readonly what: string;
  readonly rounds: number;
  readonly carriers: readonly Carrier[];
  /** How long the service takes to answer, and how many events each delivers to it. */
  readonly cases: readonly { readonly answersInMs: number; readonly events: number }[];
}

/** As many requests at a time as the package has to one endpoint by default. */
const BY_DEFAULT = { sockets: SOCKETS_OF_AN_ENDPOINT, concurrency: 8 };

const [sockets, concurrency] = [8, 11];

/** What each section says above its table, and what it delivers. */
const SECTIONS = {
  answers: {
    title: "Answers",
    text:
      `Payments that wait, to a service that answers after some time, ${BY_DEFAULT.sockets} requests at a time (the default). ` +
      "`µs of processor` is the time of all threads of the process for an event. What is a share of undici's is a share within " +
      "the same round.",
    what: "payments",
    rounds: 3,
    carriers: ["undici", "memory", "disk"],
    cases: [
      { answersInMs: 20, events: 2_000 },
      { answersInMs: 5, events: 5_000 },
    ],
    isWarm: true,
    ...BY_DEFAULT,
  },
  backlog: {
    title: "Delivering",
    text:
      `The same with a backlog of 20,000, to a service that answers at once, ${sockets} requests at a ` +
      `time (\`delivery.concurrency\` is ${concurrency} for that: one endpoint has three quarters of it). ` +
      "`undici` is its bare `pool.request`, which keeps no order, and forgets what fails. `memory` has just been handed " +
      "all, in one turn of the event loop; `disk` finds it in its file, as after an outage or a restart.",
    what: "backlog",
    rounds: 5,
    carriers: ["undici", "memory", "disk"],
    cases: [{ answersInMs: 0, events: 20_000 }],
    isWarm: true,
    ...{ sockets, concurrency },
  },
  /** By a process that has just started: nothing is compiled or connected yet. */
  burst: {
    title: "A burst in a new process",
    text:
      `As many payments as bare undici delivers in 2 s, ${BY_DEFAULT.sockets} requests at a time. The process has just started, and has ` +
      "been handed all of them in one turn of its event loop.",
    what: "burst",
    rounds: 5,
    carriers: ["undici", "memory", "disk, storing"],
    cases: [
      { answersInMs: 20, events: 600 },
      { answersInMs: 5, events: 2_400 },
    ],
    isWarm: false,
    ...BY_DEFAULT,
  },
} satisfies Record<string, Comparison & { title: string; text: string }>;

export const benchDelivery = (name: keyof typeof SECTIONS) => async (bench: Bench) => {
  const { title, text, ...comparison } = SECTIONS[name];
  bench.report.section(title, text, await compare(bench, comparison));
};

/** A row for each: its rate, in rounds, and its share of bare undici's in the same round. */
async function compare(
  { report, quick }: Bench,
  { what, rounds, carriers, cases, ...delivery }: Comparison,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { answersInMs, events: all } of cases) {
    const answers = answersInMs === 0 ? "at once" : `in ${answersInMs} ms`;
    const events = quick ? all / 40 : all;
    const service = await start<ServiceReport>("service", { answersInMs });
    const measured = await report.rounds(quick ? 1 : rounds, `${what}, answers ${answers}`, async () => {
      const reports: Partial<Record<Carrier, DeliveryReport>> = {};
      for (const carrier of carriers) {
        const argument: DeliveryArgument = { ...delivery, service: service.ready.url, carrier, events };
        reports[carrier] = await resultOf<DeliveryReport>("delivery", argument);
      }
      return reports as Record<Carrier, DeliveryReport>;
    });
    await service.end();
    for (const carrier of carriers) {
      const of = (column: keyof DeliveryReport) => medianOf(measured, (each) => each[carrier][column]);
      const ofUndici = (column: keyof DeliveryReport) =>
        medianOf(measured, (each) => each[carrier][column] / each.undici[column]);
      rows.push({
        answers,
        carrier,
        "events/s": round(of("eventsPerSecond")),
        "of undici": ratio(ofUndici("eventsPerSecond")),
        "µs of processor": tenths(of("cpuMicros")),
        "times undici's": ratio(ofUndici("cpuMicros")),
      });
    }
  }
  return rows;
}
