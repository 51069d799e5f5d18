import { compare } from "../carriers.js";
import { start } from "../child.js";
import type { Carrier } from "../delivery.js";
import { type Bench, micros, round } from "../report.js";
import type { ServiceReport } from "../service.js";
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
/** At least so much of another carrier's rate. */
const LEAST_RATE: readonly (readonly [Carrier, number, Carrier])[] = [
  ["memory", 0.85, "undici"],
  ["disk", 0.65, "undici, marked"],
  ["disk, clicks", 0.45, "undici"],
];

/** How fast a backlog is delivered, and what that takes, beside bare undici in the same round. */
export async function benchBacklog({ report, quick }: Bench): Promise<void> {
  const events = quick ? 500 : 20_000;
  const service = await start<ServiceReport>("service");
  const { of, ofOther, rowOf } = await compare({
    report,
    rounds: quick ? 1 : 5,
    what: "backlog",
    carriers: CARRIERS,
    howOf: (carrier) => ({
      service: service.ready.url,
      events: carrier === "fetch" ? events / 5 : events,
      warmUp: carrier === "fetch" ? events / 20 : events,
      sockets: SOCKETS,
      concurrency: FOR_EIGHT_TO_AN_ENDPOINT,
    }),
  });
  await service.end();
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
  for (const [carrier, least, other] of LEAST_RATE) {
    report.aims.atLeast(
      least,
      ofOther(carrier, "eventsPerSecond", other),
      `backlog, ${carrier}: rate, of ${other === "undici" ? "bare undici's" : `that of "${other}"`}`,
    );
  }
}
