import { setTimeout as sleep } from "node:timers/promises";
import { start } from "../child.js";
import type { HostReport, Way } from "../host.js";
import { delivered, load } from "../load.js";
import { type Bench, micros, type Row, ratio, round } from "../report.js";
import type { ServiceReport } from "../service.js";
import { SOCKETS, SOCKETS_OF_AN_ENDPOINT } from "../sockets.js";
import { medianOf } from "../statistics.js";

const CONNECTIONS = 64;
const ROUNDS = 3;
const WAYS: readonly Way[] = ["undici", "memory", "disk", "none"];

interface Tracked {
  readonly perSecond: number;
  /** Microseconds of the main thread for a request, with what it leaves to be delivered. */
  readonly mainThread: number;
  /** Of its throughput without tracking, measured before and after. */
  readonly throughput: number;
  /** Of 100 tracked events, how many were delivered before the load ended. */
  readonly deliveredOf100: number;
}

/** What a host is worth that has no time left, and what is delivered meanwhile. */
export async function benchHost({ report, quick }: Bench): Promise<void> {
  const measured = await report.rounds(quick ? 1 : ROUNDS, "saturated host", () => measure(quick));
  const rows = WAYS.map((way): Row => {
    const of = (column: keyof Tracked) => medianOf(measured, (each) => each[way][column]);
    return {
      way,
      throughput: ratio(of("throughput")),
      "requests/s": round(of("perSecond")),
      "delivered of 100": way === "none" ? "" : micros(of("deliveredOf100")),
      "µs of main thread": micros(of("mainThread")),
      "of undici's": ratio(medianOf(measured, (each) => each[way].mainThread / each.undici.mainThread)),
    };
  });
  report.section(
    "The host",
    `An Express application that parses cookies and a JSON body and answers with JSON, given as many requests as it can take over ${CONNECTIONS} ` +
      "connections, each of them tracked. `throughput`: of what the same application does without tracking, just before and just after. " +
      "`delivered of 100`: how many of 100 events the service had before the load ended. `µs of main thread`: processor time of the host's " +
      "main thread for a request, by the thread's own clock, until the last event is delivered, and of the time that it takes where " +
      `the host sends with bare \`undici\`. That one has ${SOCKETS_OF_AN_ENDPOINT} sockets, as many as the package lets payments have of its ` +
      `${SOCKETS}. \`none\` does not track: what differs from a throughput of 1 there is the measurement's error.`,
    rows,
  );
}

async function measure(quick: boolean): Promise<Record<Way, Tracked>> {
  const sliceMs = quick ? 300 : 2_000;
  const warmUpMs = quick ? 300 : 1_000;
  const loadOf = { connections: CONNECTIONS, isTracked: true };
  const idle = await start<ServiceReport>("service");
  const plain = await start<HostReport>("host", { way: "none", service: idle.ready.url });
  await load(plain, { ...loadOf, forMs: warmUpMs });
  const measurePlain = () => load(plain, { ...loadOf, forMs: quick ? 200 : 500 });
  const result: Partial<Record<Way, Tracked>> = {};
  let before = await measurePlain();
  for (const way of WAYS) {
    const service = await start<ServiceReport>("service");
    const host = await start<HostReport>("host", { way, service: service.ready.url });
    await load(host, { ...loadOf, forMs: warmUpMs });
    await delivered(host);
    const { received } = await service.report();
    const { mainThreadMicros } = await host.report();
    // Not after the load: as soon as it ends, the host has time to deliver.
    const atEnd = sleep(sliceMs).then(() => service.report());
    const { answered, perSecond } = await load(host, { ...loadOf, forMs: sliceMs });
    const receivedAtEnd = (await atEnd).received;
    // Who has put off most of the work until then has not been spared it.
    await delivered(host);
    const mainThread = ((await host.report()).mainThreadMicros - mainThreadMicros) / answered;
    for (const child of [host, service]) await child.end();
    const after = await measurePlain();
    result[way] = {
      perSecond,
      mainThread,
      throughput: perSecond / ((before.perSecond + after.perSecond) / 2),
      deliveredOf100: (100 * (receivedAtEnd - received)) / answered,
    };
    before = after;
  }
  for (const child of [plain, idle]) await child.end();
  return result as Record<Way, Tracked>;
}
