import { compare } from "../carriers.js";
import type { Carrier } from "../delivery.js";
import { type Bench, micros, round } from "../report.js";
import { FOR_EIGHT_TO_AN_ENDPOINT, SOCKETS } from "../sockets.js";

const CARRIERS: readonly Carrier[] = [
  "undici",
  "memory",
  "undici, marked",
  "disk",
  "disk, clicks",
  "disk, storing",
  "fetch",
];

/** How fast a backlog is delivered, and what that takes, beside bare undici in the same round. */
export async function benchBacklog(bench: Bench): Promise<void> {
  const { report, quick } = bench;
  const events = quick ? 500 : 20_000;
  const { of, rowOf } = await compare(bench, {
    what: "backlog",
    rounds: 5,
    carriers: CARRIERS,
    events,
    sockets: SOCKETS,
    concurrency: FOR_EIGHT_TO_AN_ENDPOINT,
  });
  report.section(
    "Delivering",
    `A backlog of ${round(events)} payments (\`fetch\`: a fifth of them), to a service that answers at once, ${SOCKETS} requests at a ` +
      `time (\`delivery.concurrency\` is ${FOR_EIGHT_TO_AN_ENDPOINT} for that: one endpoint has three quarters of it). ` +
      "`undici` is its bare `pool.request`; it and `fetch` keep no order, and forget what fails. `memory` has just been handed " +
      "all, in one turn of the event loop; `disk` finds it in its file, as after an outage or a restart, `disk, clicks` a backlog of " +
      "clicks, which may be sent twice; `disk, storing` has just been handed it, and stores it while it delivers. `undici, marked` is the " +
      "least that knows on the disk, as `disk` does, which payments are under way: bare `undici`, and one row in SQLite. `µs of processor` is the time of all " +
      "threads of the process for an event. What is a share of undici's is a share within the same round.",
    CARRIERS.map((carrier) => ({
      ...rowOf(carrier),
      "µs of main thread": micros(of(carrier, "mainThreadMicros")),
    })),
  );
}
