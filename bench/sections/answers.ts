import { compare } from "../carriers.js";
import type { Bench } from "../report.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";

/** How fast payments are delivered to a service that takes some milliseconds to answer. */
export async function benchAnswers(bench: Bench): Promise<void> {
  const rows = await compare(bench, {
    what: "payments",
    rounds: 3,
    carriers: ["undici", "memory", "disk"],
    cases: [
      { answersInMs: 20, events: 2_000 },
      { answersInMs: 5, events: 5_000 },
    ],
    isWarm: true,
    sockets: SOCKETS_OF_AN_ENDPOINT,
    concurrency: SOCKETS,
  });
  bench.report.section(
    "Answers",
    `Payments that wait, to a service that answers after some time, ${SOCKETS_OF_AN_ENDPOINT} requests at a time (the default). ` +
      "`µs of processor` is the time of all threads of the process for an event. What is a share of undici's is a share within " +
      "the same round.",
    rows,
  );
}
