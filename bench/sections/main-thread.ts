import { type Child, start } from "../child.js";
import type { HostReport, Way } from "../host.js";
import { delivered, load } from "../load.js";
import { type Bench, medianOf, type Row, tenths } from "../report.js";
import type { ServiceReport } from "../service.js";

const WAYS: readonly Way[] = ["disk", "memory", "undici", "unkept", "none"];
const PAIRS = 4;

/** What tracking a request costs the host's main thread. */
export async function benchMainThread({ report, quick }: Bench): Promise<void> {
  const rows: Row[] = [];
  for (const way of WAYS) {
    report.progress(`main thread: ${way}`);
    const costs = await costsOf(way, quick);
    rows.push({
      way,
      "untracked, µs": tenths(medianOf(costs, ({ untracked }) => untracked)),
      "healthy, µs above": tenths(medianOf(costs, ({ above }) => above)),
    });
  }
  report.section(
    "A tracked request",
    "Processor time of the host's main thread, by the thread's own clock, for a request that is not tracked, and how much more a " +
      "tracked one takes, with its delivery: the same host, in turns. `none` does not track: what differs from 0 there is the " +
      "measurement's error. `unkept` reports to an outbox that keeps and delivers nothing: no outbox costs less. `undici` (as " +
      "many sockets as the package has for payments) is a host that sends for itself, once, without retries.",
    rows,
  );
}

/**
 * Microseconds of the main thread for a request that is not tracked, and how many more for one that
 * is. In turns: a machine that is slow for a while is slow for both.
 */
async function costsOf(way: Way, quick: boolean) {
  const service = await start<ServiceReport>("service");
  const host = await start<HostReport>("host", { way, service: service.ready.url });
  for (const isTracked of [true, false]) await costOfSlice(host, quick ? 500 : 3_000, isTracked);
  const requests = quick ? 150 : 1_500;
  const pairs = [];
  for (let nth = 0; nth < (quick ? 1 : PAIRS); nth++) {
    const untracked = await costOfSlice(host, requests, false);
    pairs.push({ untracked, above: (await costOfSlice(host, requests, true)) - untracked });
  }
  for (const child of [host, service]) await child.end();
  return pairs;
}

/** Microseconds of the main thread for each request, with what it leaves to be delivered. */
async function costOfSlice(host: Child<HostReport>, requests: number, isTracked: boolean): Promise<number> {
  const before = (await host.report()).mainThreadMicros;
  await load(host, requests, isTracked);
  await delivered(host);
  return ((await host.report()).mainThreadMicros - before) / requests;
}
