import { compare } from "../carriers.js";
import type { Bench } from "../report.js";
import { FOR_EIGHT_TO_AN_ENDPOINT, SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";

const BY_DEFAULT = { sockets: SOCKETS_OF_AN_ENDPOINT, concurrency: SOCKETS };

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
    ...BY_DEFAULT,
  });
  bench.report.section(
    "Answers",
    `Payments that wait, to a service that answers after some time, ${SOCKETS_OF_AN_ENDPOINT} requests at a time (the default). ` +
      "`µs of processor` is the time of all threads of the process for an event. What is a share of undici's is a share within " +
      "the same round.",
    rows,
  );
}

/** How fast a backlog is delivered, and what that takes. */
export async function benchBacklog(bench: Bench): Promise<void> {
  const rows = await compare(bench, {
    what: "backlog",
    rounds: 5,
    carriers: ["undici", "memory", "disk"],
    cases: [{ answersInMs: 0, events: 20_000 }],
    isWarm: true,
    sockets: SOCKETS,
    concurrency: FOR_EIGHT_TO_AN_ENDPOINT,
  });
  bench.report.section(
    "Delivering",
    `The same with a backlog of 20,000, to a service that answers at once, ${SOCKETS} requests at a ` +
      `time (\`delivery.concurrency\` is ${FOR_EIGHT_TO_AN_ENDPOINT} for that: one endpoint has three quarters of it). ` +
      "`undici` is its bare `pool.request`, which keeps no order, and forgets what fails. `memory` has just been handed " +
      "all, in one turn of the event loop; `disk` finds it in its file, as after an outage or a restart.",
    rows,
  );
}

/**
 * How fast a process that has just started delivers a burst: nothing is compiled or connected yet.
 */
export async function benchBurst(bench: Bench): Promise<void> {
  const rows = await compare(bench, {
    what: "burst",
    rounds: 5,
    carriers: ["undici", "memory", "disk, storing"],
    // As many as bare undici delivers in 2 s.
    cases: [
      { answersInMs: 20, events: 600 },
      { answersInMs: 5, events: 2_400 },
    ],
    isWarm: false,
    ...BY_DEFAULT,
  });
  bench.report.section(
    "A burst in a new process",
    `As many payments as bare undici delivers in 2 s, ${SOCKETS_OF_AN_ENDPOINT} requests at a time. The process has just started, and has ` +
      "been handed all of them in one turn of its event loop.",
    rows,
  );
}
