import { compare } from "../carriers.js";
import type { Bench } from "../report.js";
import { FOR_EIGHT_TO_AN_ENDPOINT, SOCKETS } from "../sockets.js";

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
    `A backlog of 20,000 payments, to a service that answers at once, ${SOCKETS} requests at a ` +
      `time (\`delivery.concurrency\` is ${FOR_EIGHT_TO_AN_ENDPOINT} for that: one endpoint has three quarters of it). ` +
      "`undici` is its bare `pool.request`, which keeps no order, and forgets what fails. `memory` has just been handed " +
      "all, in one turn of the event loop; `disk` finds it in its file, as after an outage or a restart. `µs of processor` is the time of all " +
      "threads of the process for an event. What is a share of undici's is a share within the same round.",
    rows,
  );
}
