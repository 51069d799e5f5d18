import { setTimeout as sleep } from "node:timers/promises";
import { type Child, start } from "../child.js";
import type { HostReport, Way } from "../host.js";
import { delivered, type LoadOptions, load } from "../load.js";
import { type Bench, micros, type Row } from "../report.js";
import type { ServiceReport, State } from "../service.js";
import { medianOf } from "../statistics.js";

const STATES: readonly State[] = ["healthy", "slow", "refusing", "silent"];
/** What reaches no service is measured beside a healthy one alone. */
const WAYS: Readonly<Record<Way, readonly State[]>> = {
  disk: STATES,
  memory: STATES,
  undici: STATES,
  fetch: STATES,
  unkept: ["healthy"],
  none: ["healthy"],
};
const CONNECTIONS = 16;
const PAIRS = 4;
// What a slow service answers after half a second is a part of its request's cost; one that says
// nothing is not waited for.
const REST_MS: Readonly<Record<State, number>> = { healthy: 10_000, slow: 600, refusing: 100, silent: 100 };

/** What tracking a request costs the host's main thread, for each state of the service. */
export async function benchMainThread({ report, quick }: Bench): Promise<void> {
  const measured: readonly State[] = quick ? ["healthy", "silent"] : STATES;
  const costs = new Map<string, Awaited<ReturnType<typeof costsOf>>>();
  for (const [way, states] of Object.entries(WAYS) as [Way, readonly State[]][]) {
    for (const state of states) {
      if (!measured.includes(state)) continue;
      report.progress(`main thread: ${way}, ${state}`);
      costs.set(`${way} ${state}`, await costsOf(way, state, quick));
    }
  }
  const aboveOf = (way: Way, state: State) =>
    medianOf(costs.get(`${way} ${state}`) ?? [], (cost) => cost.above);
  const rows = (Object.keys(WAYS) as Way[]).map((way): Row => {
    const untracked = WAYS[way].flatMap((state) => costs.get(`${way} ${state}`) ?? []);
    return {
      way,
      "untracked, µs": micros(medianOf(untracked, (cost) => cost.untracked)),
      ...Object.fromEntries(
        measured.map((state) => [
          `${state}, µs above`,
          WAYS[way].includes(state) ? micros(aboveOf(way, state)) : "",
        ]),
      ),
    };
  });
  report.section(
    "A tracked request",
    "Processor time of the host's main thread, by the thread's own clock, for a request that is not tracked, and how much more a " +
      "tracked one takes, with its delivery: the same host, in turns. `none` does not track: what differs from 0 there is the " +
      "measurement's error. `unkept` reports to an outbox that keeps and delivers nothing: no outbox costs less. `undici` (as " +
      "many sockets as the package has for payments) and `fetch` are a host that sends for itself, once, without retries.",
    rows,
  );
}

/**
 * Microseconds of the main thread for a request that is not tracked, and how many more for one that
 * is. In turns: a machine that is slow for a while is slow for both.
 */
async function costsOf(way: Way, state: State, quick: boolean) {
  const service = await start<ServiceReport>("service");
  const host = await start<HostReport>("host", { way, service: service.ready.url });
  const few = quick || (way === "fetch" && state === "silent");
  // Each of fetch's requests that are not answered keeps a socket: few, so that no system's limit
  // is reached.
  const slice = { connections: CONNECTIONS, requests: few ? 150 : 1_500 };
  // While the service is healthy: a host has compiled its code before the service fails.
  const warmUp = { connections: CONNECTIONS, requests: quick ? 500 : 3_000 };
  for (const oneIn of [1, 0]) await load(host, { ...warmUp, oneIn });
  await delivered(host, REST_MS.healthy);
  await service.report({ state });
  await costOfSlice(host, { ...slice, requests: 100, oneIn: 1 }, REST_MS[state]);
  const pairs = [];
  for (let nth = 0; nth < (quick ? 1 : PAIRS); nth++) {
    const untracked = await costOfSlice(host, { ...slice, oneIn: 0 }, 0);
    const tracked = await costOfSlice(host, { ...slice, oneIn: 1 }, REST_MS[state]);
    pairs.push({ untracked, above: tracked - untracked });
  }
  for (const child of [host, service]) await child.end();
  return pairs;
}

/** Microseconds of the main thread for each request, with what it leaves to be delivered. */
async function costOfSlice(host: Child<HostReport>, options: LoadOptions, restMs: number): Promise<number> {
  const before = (await host.report()).mainThreadMicros;
  const { answered } = await load(host, options);
  // Who asks a host often whether it is done adds to what is measured.
  if (restMs > 1_000) await delivered(host, restMs);
  else await sleep(restMs);
  return ((await host.report()).mainThreadMicros - before) / answered;
}
