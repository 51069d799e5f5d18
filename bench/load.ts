import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
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
  /** The share of the time that the host without tracking worked: 1 says that it was the host that could do no more. */
  readonly plainUtilization: number;
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
const WARM_UP_MS = 1_000;
const SLICE_MS = 250;
const SLICES = 8;
const CLOSING_BRACE = 125;

/**
 * A host that tracks beside one that does not, each given as many requests as it can take, in turns of a quarter of a
 * second: a machine that is slow for a while is slow for both. New processes every round, for one that was lucky with its
 * compiler stays so.
 */
export async function compare({ rounds, ...options }: ComparisonOptions): Promise<Comparison> {
  const compared: Comparison[] = [];
  for (let round = 0; round < rounds; round++) compared.push(await compareOnce(options));
  const middle = (of: keyof Comparison) => median(compared.map((each) => each[of]));
  return {
    rate: middle("rate"),
    p99: middle("p99"),
    plainRate: middle("plainRate"),
    plainUtilization: middle("plainUtilization"),
    mostSockets: Math.max(...compared.map(({ mostSockets }) => mostSockets)),
  };
}

interface Slice {
  readonly rate: number;
  readonly latencies: readonly number[];
  readonly utilization: number;
}

async function compareOnce({ way, state, oneIn }: Omit<ComparisonOptions, "rounds">): Promise<Comparison> {
  const service = await start<ServiceReport>("service", { state });
  const plain = await start<HostReport>("host", { way: "none", service: service.ready.url });
  const tracking = await start<HostReport>("host", { way, service: service.ready.url });
  // Every request is tracked: a host that has run for a while has compiled what only one request in a hundred passes.
  for (const host of [plain, tracking]) await shoot(host, 1, WARM_UP_MS);
  const slices = { plain: [] as Slice[], tracking: [] as Slice[] };
  for (let nth = 0; nth < SLICES; nth++) {
    // What the last slice left to be delivered is no part of the plain one.
    await rested(tracking);
    slices.plain.push(await shoot(plain, oneIn, SLICE_MS));
    slices.tracking.push(await shoot(tracking, oneIn, SLICE_MS));
  }
  const { mostSockets } = await service.report();
  for (const child of [plain, tracking, service]) await child.end();
  const p99Of = (of: Slice[]) =>
    percentile(
      of.flatMap(({ latencies }) => latencies),
      0.99,
    );
  return {
    rate: median(slices.tracking.map(({ rate }, nth) => rate / (slices.plain[nth] as Slice).rate)),
    p99: p99Of(slices.tracking) / p99Of(slices.plain),
    plainRate: median(slices.plain.map(({ rate }) => rate)),
    plainUtilization: median(slices.plain.map(({ utilization }) => utilization)),
    mostSockets,
  };
}

async function shoot(host: Child<HostReport>, oneIn: number, forMs: number): Promise<Slice> {
  const { port, hostname } = new URL(host.ready.url);
  const requests = Array.from({ length: VISITORS }, (_, nth) => request(nth, oneIn));
  const latencies: number[] = [];
  await host.report();
  const begin = performance.now();
  const end = begin + forMs;
  let next = 0;

  // The requests are made beforehand, and of an answer only its ends are looked at: the load is to take little of the machine.
  async function visit(): Promise<void> {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let sent = 0;
    let begun = false;
    function ask(): void {
      sent = performance.now();
      begun = false;
      if (sent < end) socket.write(requests[next++ % VISITORS] as Buffer);
      else socket.end();
    }
    socket.on("connect", ask);
    socket.on("data", (answer) => {
      if (!begun && answer.toString("latin1", 9, 12) !== "201") {
        throw new Error(`the host answered ${answer.toString("latin1", 0, 200)}`);
      }
      begun = true;
      // It is one flat object, and no header has a brace.
      if (answer.at(-1) !== CLOSING_BRACE) return;
      latencies.push(performance.now() - sent);
      ask();
    });
    await once(socket, "close");
  }

  await Promise.all(Array.from({ length: CONNECTIONS }, visit));
  const tookMs = performance.now() - begin;
  const { utilization } = await host.report();
  return { rate: (latencies.length / tookMs) * 1_000, latencies, utilization };
}

function request(nth: number, oneIn: number): Buffer {
  const { clickId, sessionId } = visitor(nth);
  const body = JSON.stringify({ email: `customer-${nth}@shop.example`, total: 19.9 });
  const head = [
    `POST ${nth % oneIn === 0 ? "/checkout" : "/page"} HTTP/1.1`,
    "host: shop.example",
    "content-type: application/json",
    `content-length: ${body.length}`,
    `cookie: svc_click_id=${clickId}; svc_session_id=${sessionId}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Waits until the host has nothing to deliver, or can deliver nothing. */
async function rested(host: Child<HostReport>): Promise<void> {
  for (let before = -1; ; ) {
    const { undelivered } = await host.report();
    if (undelivered === 0 || undelivered === before) return;
    before = undelivered;
    await sleep(50);
  }
}
