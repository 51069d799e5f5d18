import { type Compared, compare } from "../carriers.js";
import { PARTS } from "../profile.js";
import { type Bench, micros, type Row, ratio } from "../report.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";
import { medianOf } from "../statistics.js";

const CARRIERS = ["undici", "memory", "disk"] as const;

const CASES = [
  { answersInMs: 20, events: 2_000 },
  { answersInMs: 5, events: 5_000 },
  { answersInMs: 0, events: 20_000 },
] as const;

/**
 * How fast payments are delivered to a service that takes some milliseconds to answer, and where
 * the time goes.
 */
export async function benchAnswers(bench: Bench): Promise<void> {
  const { report, quick } = bench;
  const rows: Row[] = [];
  const profiles: [when: string, measured: readonly Compared[]][] = [];
  for (const { answersInMs, events: all } of CASES) {
    const when = answersInMs === 0 ? "at once" : `in ${answersInMs} ms`;
    const { measured, of, rowOf } = await compare(bench, {
      what: `answers ${when}`,
      rounds: 3,
      carriers: [...CARRIERS, "disk, profiled"],
      answersInMs,
      events: quick ? all / 40 : all,
      sockets: SOCKETS_OF_AN_ENDPOINT,
      concurrency: SOCKETS,
    });
    profiles.push([when, measured]);
    for (const carrier of CARRIERS) {
      rows.push({
        answers: when,
        ...rowOf(carrier),
        "flushes an event": carrier === "disk" ? ratio(of(carrier, "transactions")) : "",
      });
    }
  }
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
