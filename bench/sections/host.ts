import { setTimeout as sleep } from "node:timers/promises";
import { type Child, start } from "../child.js";
import type { HostReport, Way } from "../host.js";
import { delivered, load } from "../load.js";
import { type Bench, micros, type Row, ratio, round } from "../report.js";
import type { ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";
import { medianOf } from "../statistics.js";

const CONNECTIONS = 64;
/** One request in so many is tracked; and in how many rounds that is measured. */
const SHARES = [
  { oneIn: 100, rounds: 2 },
  { oneIn: 10, rounds: 2 },
  { oneIn: 1, rounds: 3 },
];
const WAYS: readonly Way[] = ["undici", "memory", "disk", "none"];
const DRAIN_MS = 20_000;

interface Tracked extends Awaited<ReturnType<typeof measureLoad>> {
  /** Microseconds of the main thread for a request, with what it leaves to be delivered. */
  readonly mainThread: number;
  /** Of its throughput without tracking, measured before and after. */
  readonly throughput: number;
  /** Of 100 tracked events, how many were delivered before the load ended. */
  readonly deliveredOf100: number;
  /** The rate of delivery during the load, as a share of the rate after it. */
  readonly ofRest: number;
  readonly mostSockets: number;
}

/** What a host is worth that has no time left, and what is delivered meanwhile. */
export async function benchHost({ report, quick }: Bench): Promise<void> {
  const rows: Row[] = [];
  for (const { oneIn, rounds } of SHARES) {
    const measured = await report.rounds(quick ? 1 : rounds, `saturated host, 1 in ${oneIn} tracked`, () =>
      measure(oneIn, quick),
    );
    const of = (way: Way, column: keyof Tracked) => medianOf(measured, (each) => each[way][column]);
    const ofUndicis = (way: Way, column: keyof Tracked) =>
      medianOf(measured, (each) => each[way][column] / each.undici[column]);
    for (const way of WAYS) {
      rows.push({
        way,
        "the service": "healthy",
        tracked: oneIn === 1 ? "every request" : `1 in ${oneIn}`,
        throughput: ratio(of(way, "throughput")),
        "requests/s": round(of(way, "perSecond")),
        "its event loop": ratio(of(way, "utilization")),
        "delivered of 100": way === "none" ? "" : micros(of(way, "deliveredOf100")),
        "of the rate at rest": way === "disk" && oneIn === 1 ? ratio(of(way, "ofRest")) : "",
        "µs of main thread": micros(of(way, "mainThread")),
        "of undici's": ratio(ofUndicis(way, "mainThread")),
        "sockets to the service": of(way, "mostSockets"),
      });
    }
  }
  report.section(
    "The host",
    `An Express application that parses cookies and a JSON body and answers with JSON, given as many requests as it can take over ${CONNECTIONS} ` +
      "connections. `throughput`: of what the same application does without tracking, just before and just after. `delivered of 100`: " +
      "how many of 100 tracked events the service had before the load ended. `of the rate at rest`: events delivered a second during the " +
      "load, of those after it. `µs of main thread`: processor time of the host's " +
      "main thread for a request, by the thread's own clock, until the last event is delivered, and of the time that it takes where " +
      `the host sends with bare \`undici\`. That one has ${SOCKETS_OF_AN_ENDPOINT} sockets, as many as the package lets payments have of its ` +
      `${SOCKETS}. \`none\` does not track: what differs from a throughput of 1 there is the measurement's error.`,
    rows,
  );
}

async function measure(oneIn: number, quick: boolean): Promise<Record<Way, Tracked>> {
  const sliceMs = quick ? 300 : 2_000;
  const plainMs = quick ? 200 : 500;
  const warmUpMs = quick ? 300 : 1_000;
  const idle = await start<ServiceReport>("service");
  const plain = await start<HostReport>("host", { way: "none", service: idle.ready.url });
  await load(plain, { connections: CONNECTIONS, oneIn: 1, forMs: warmUpMs });
  const measurePlain = () => measureLoad(plain, oneIn, plainMs);
  const result: Partial<Record<Way, Tracked>> = {};
  let before = await measurePlain();
  for (const way of WAYS) {
    const service = await start<ServiceReport>("service");
    const host = await start<HostReport>("host", { way, service: service.ready.url });
    // Every request is tracked: a host that has run for a while has compiled what only one request
    // in a hundred passes.
    await load(host, { connections: CONNECTIONS, oneIn: 1, forMs: warmUpMs });
    await delivered(host, DRAIN_MS);
    const { received } = await service.report();
    const { mainThreadMicros } = await host.report();
    // Not after the load: as soon as it ends, the host has time to deliver.
    const began = performance.now();
    const atEnd = sleep(sliceMs).then(async () => ({ ...(await service.report()), at: performance.now() }));
    const measured = await measureLoad(host, oneIn, sliceMs);
    const { received: receivedAtEnd, mostSockets, at } = await atEnd;
    // Who has put off most of the work until then has not been spared it.
    await delivered(host, DRAIN_MS);
    const restMs = performance.now() - at;
    const { received: receivedInAll } = await service.report();
    const mainThread = ((await host.report()).mainThreadMicros - mainThreadMicros) / measured.answered;
    for (const child of [host, service]) await child.end();
    const after = await measurePlain();
    result[way] = {
      ...measured,
      mainThread,
      throughput: measured.perSecond / ((before.perSecond + after.perSecond) / 2),
      deliveredOf100: (100 * (receivedAtEnd - received)) / measured.tracked,
      ofRest: (receivedAtEnd - received) / (at - began) / ((receivedInAll - receivedAtEnd) / restMs),
      mostSockets,
    };
    before = after;
  }
  for (const child of [plain, idle]) await child.end();
  return result as Record<Way, Tracked>;
}

async function measureLoad(host: Child<HostReport>, oneIn: number, forMs: number) {
  await host.report();
  const measured = await load(host, { connections: CONNECTIONS, oneIn, forMs });
  const { utilization } = await host.report();
  return { ...measured, utilization };
}
