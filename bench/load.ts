import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { type Child, start } from "./child.js";
import type { HostReport, Way } from "./host.js";
import { visitor } from "./payments.js";
import type { ServiceReport, State } from "./service.js";
import { median, percentile } from "./statistics.js";

export interface Comparison {
  /** Requests a second, of what they are without tracking. */
  readonly rate: number;
  /** The 99th percentile of the latency, of what it is without tracking. */
  readonly p99: number;
  /** Requests a second without tracking. */
  readonly plainRate: number;
  /** How many sockets to the service were open at a time, at most. */
  readonly mostSockets: number;
}

export interface ComparisonOptions {
  readonly way: Way;
  readonly state: State;
  /** One request in so many is a checkout. */
  readonly oneIn: number;
  readonly rounds: number;
}

const CONNECTIONS = 16;
const VISITORS = 500;
const SLICE_MS = 1_000;
const SLICES = 2;
const WARM_UP_MS = 1_500;

/**
 * A host that tracks beside one that does not, each given as many requests as it can take, a second the one and a second
 * the other: a machine that is slow for a while is slow for both. New processes every round, for one that was lucky with
 * its compiler stays so.
 */
export async function compare({ rounds, ...options }: ComparisonOptions): Promise<Comparison> {
  const pairs: Pair[] = [];
  let mostSockets = 0;
  for (let round = 0; round < rounds; round++) {
    const result = await compareOnce(options);
    pairs.push(...result.pairs);
    mostSockets = Math.max(mostSockets, result.mostSockets);
  }
  return {
    rate: median(pairs.map(({ plain, tracking }) => tracking.rate / plain.rate)),
    p99: median(pairs.map(({ plain, tracking }) => tracking.p99Ms / plain.p99Ms)),
    plainRate: median(pairs.map(({ plain }) => plain.rate)),
    mostSockets,
  };
}

interface Pair {
  readonly plain: Slice;
  readonly tracking: Slice;
}

interface Slice {
  readonly rate: number;
  readonly p99Ms: number;
}

async function compareOnce({ way, state, oneIn }: Omit<ComparisonOptions, "rounds">) {
  const service = await start<ServiceReport>("service", { state });
  const plain = await start<HostReport>("host", { way: "none", service: service.ready.url });
  const tracking = await start<HostReport>("host", { way, service: service.ready.url });
  for (const host of [plain, tracking]) await shoot(host, oneIn, WARM_UP_MS);
  const pairs: Pair[] = [];
  for (let nth = 0; nth < SLICES; nth++) {
    // What the last slice left to be delivered is no part of the plain one.
    await rested(tracking);
    pairs.push({
      plain: await shoot(plain, oneIn, SLICE_MS),
      tracking: await shoot(tracking, oneIn, SLICE_MS),
    });
  }
  const { mostSockets } = await service.report();
  for (const child of [plain, tracking, service]) await child.end();
  return { pairs, mostSockets };
}

async function shoot(host: Child<HostReport>, oneIn: number, forMs: number): Promise<Slice> {
  const pool = new Pool(host.ready.url, { connections: CONNECTIONS, pipelining: 1 });
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + forMs;

  async function visit(first: number): Promise<void> {
    for (let nth = first; performance.now() < end; nth += CONNECTIONS) {
      const sent = performance.now();
      const { statusCode, body } = await pool.request(requests(nth % VISITORS, oneIn));
      await body.dump();
      latencies.push(performance.now() - sent);
      if (statusCode !== 201) throw new Error(`the host answered ${statusCode}`);
    }
  }

  await Promise.all(Array.from({ length: CONNECTIONS }, (_, nth) => visit(nth)));
  const tookMs = performance.now() - begin;
  await pool.close();
  return {
    rate: (latencies.length / tookMs) * 1_000,
    p99Ms: percentile(latencies, 0.99),
  };
}

function requests(nth: number, oneIn: number) {
  const { clickId, sessionId } = visitor(nth);
  return {
    method: "POST",
    path: nth % oneIn === 0 ? "/checkout" : "/page",
    headers: {
      "content-type": "application/json",
      cookie: `svc_click_id=${clickId}; svc_session_id=${sessionId}`,
    },
    body: JSON.stringify({ email: `customer-${nth}@shop.example`, total: 19.9 }),
  } as const;
}

/** Waits until the host has nothing to deliver, or can deliver nothing. */
async function rested(host: Child<HostReport>): Promise<void> {
  for (let before = -1; ; ) {
    const { undelivered } = await host.report();
    if (undelivered === 0 || undelivered === before) return;
    before = undelivered;
    await sleep(100);
  }
}
