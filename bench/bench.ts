/**
 * `npm run bench`, or `npm run bench -- --quick`
 *
 * What the package costs a host, measured against a host without it, or with what one would write without it, in the
 * same run. Prints it and writes it to bench/results/; `--quick` only sees that everything runs, and writes nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { programsOfPostgres } from "../test/helpers/cluster.js";
import { createAims } from "./aims.js";
import { resultOf, start } from "./child.js";
import type { Carrier, DeliveryReport } from "./delivery.js";
import type { HandOver, HandOverArgument, HandOverReport } from "./hand-over.js";
import type { Way } from "./host.js";
import { type Comparison, compare } from "./load.js";
import type { LoopDelayReport } from "./loop-delay.js";
import type { ServiceReport, State } from "./service.js";
import { median } from "./statistics.js";
import { type Cell, tableOf } from "./table.js";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const { quick } = values;
const ROUNDS = quick ? 1 : 3;
const STATES: readonly State[] = quick ? ["healthy"] : ["healthy", "slow", "hanging", "refusing", "failing"];
const EVENTS = quick ? 2_000 : 30_000;
const FEW = 1_000;
const MANY = quick ? 20_000 : 1_000_000;
const CONCURRENCY = 8;
/** In microseconds. */
const LONGEST_HAND_OVER = { memory: 3, disk: 5 };

const RESULTS = `bench/results/node-${process.versions.node.split(".")[0]}.md`;

const aims = createAims();
const report: string[] = [];

function print(text: string): void {
  report.push(text);
  console.log(text);
}

function section(title: string, explanation: string, rows: readonly Readonly<Record<string, Cell>>[]): void {
  print(`\n## ${title}\n\n${explanation}\n\n${tableOf(rows)}`);
}

const share = (ratio: number) => ratio.toFixed(2);
const micros = (number: number) => number.toFixed(1);
const millis = (number: number) => number.toFixed(1);
const round = (number: number) => Math.round(number).toLocaleString("en");

async function benchHost(): Promise<void> {
  const rows: Record<string, Cell>[] = [];
  async function row(way: Way, state: State, oneIn: number): Promise<Comparison> {
    const compared = await compare({ way, state, oneIn, rounds: ROUNDS });
    const { rate, p99, plainRate, plainUtilization, mostSockets } = compared;
    rows.push({
      way,
      "the service": state,
      tracked: oneIn === 1 ? "every request" : `1 in ${oneIn}`,
      throughput: share(rate),
      p99: share(p99),
      "requests/s without": round(plainRate),
      "its event loop": share(plainUtilization),
      "sockets to the service": mostSockets,
    });
    return compared;
  }
  for (const state of STATES) {
    for (const way of ["memory", "disk"] as const) {
      const few = await row(way, state, 100);
      aims.atLeast(0.98, few.rate, `${way}, ${state}: the host's throughput, 1 request in 100 tracked`);
      aims.atMost(1.1, few.p99, `${way}, ${state}: its p99, 1 in 100 tracked`);
      const all = await row(way, state, 1);
      aims.atLeast(0.9, all.rate, `${way}, ${state}: the host's throughput, every request tracked`);
      aims.atMost(1.1, all.p99, `${way}, ${state}: its p99, every request tracked`);
      aims.atMost(CONCURRENCY, all.mostSockets, `${way}, ${state}: sockets to the service`);
    }
  }
  for (const way of ["none", "unkept", "undici", "fetch"] as const) {
    for (const oneIn of [100, 1]) await row(way, "healthy", oneIn);
  }
  section(
    "The host",
    "An Express application that parses cookies and a JSON body and answers with JSON, given as many requests as it can take, " +
      "of what it is without tracking. `none` is that host beside itself: what differs from 1 there is the measurement's error. " +
      "`unkept` reports to an outbox that keeps and delivers nothing: no outbox costs less. `undici` and `fetch` are a host that " +
      "sends for itself, once, without retries.",
    rows,
  );
}

/** The median of each of what differs from time to time. */
function middle(measured: readonly HandOver[]): HandOver {
  const of = (name: "mainThread" | "untilReceipt" | "heapBytes") =>
    median(measured.map((each) => each[name]));
  return {
    ...(measured[0] as HandOver),
    mainThread: of("mainThread"),
    untilReceipt: of("untilReceipt"),
    heapBytes: of("heapBytes"),
  };
}

async function benchHandOver(): Promise<void> {
  const rows: Record<string, Cell>[] = [];
  async function row(
    outbox: HandOverArgument["outbox"],
    waiting: readonly number[],
  ): Promise<HandOverReport> {
    const rounds: HandOverReport[] = [];
    for (let nth = 0; nth < ROUNDS; nth++) rounds.push(await resultOf("hand-over", { outbox, waiting }));
    const measured = waiting.map((_, nth) => middle(rounds.map((each) => each[nth] as HandOver)));
    for (const each of measured) {
      rows.push({
        outbox,
        "events waiting": round(each.waiting),
        "µs of main thread": micros(each.mainThread),
        "µs until the receipt": micros(each.untilReceipt),
        "bytes of heap": round(each.heapBytes),
        "bytes on disk": each.diskBytes === undefined ? "" : round(each.diskBytes),
      });
    }
    return measured;
  }
  for (const outbox of ["memory", "disk"] as const) {
    const measured = await row(outbox, [FEW, MANY / 10, MANY]);
    const [few, , many] = measured as [HandOver, HandOver, HandOver];
    aims.atMost(
      LONGEST_HAND_OVER[outbox],
      few.mainThread,
      `${outbox}: µs of main thread for an event handed over`,
    );
    aims.atMost(
      1.5,
      many.untilReceipt / few.untilReceipt,
      `${outbox}: its cost with ${round(MANY)} waiting, of that with ${round(FEW)}`,
    );
    aims.atMost(1_024, many.heapBytes, `${outbox}: bytes of heap for an event that waits`);
  }
  if (programsOfPostgres()) await row("postgres", [FEW, MANY / 50]);
  section(
    "Handing over",
    "`trackPayment`, 100 at a time, each by another visitor, until every receipt is there; what it costs for each event.",
    rows,
  );
}

async function benchDelivery(): Promise<void> {
  const service = await start<ServiceReport>("service", { state: "healthy" });
  const carriers: readonly Carrier[] = ["undici", "memory", "disk", "fetch"];
  const reports = Object.fromEntries(carriers.map((carrier) => [carrier, [] as DeliveryReport[]]));
  for (let nth = 0; nth < ROUNDS; nth++) {
    for (const carrier of carriers) {
      const argument = {
        carrier,
        service: service.ready.url,
        events: carrier === "fetch" ? EVENTS / 5 : EVENTS,
      };
      reports[carrier]?.push(await resultOf<DeliveryReport>("delivery", argument));
    }
  }
  await service.end();
  const rateOf = (carrier: Carrier) =>
    median((reports[carrier] ?? []).map(({ eventsPerSecond }) => eventsPerSecond));
  const cpuOf = (carrier: Carrier) => median((reports[carrier] ?? []).map(({ cpuMicros }) => cpuMicros));
  section(
    "Delivering",
    "A backlog, to a service that answers at once, eight requests at a time. `undici` is its bare `pool.request`; it and " +
      "`fetch` keep no order, and forget what fails. The processor time is that of all threads.",
    carriers.map((carrier) => ({
      carrier,
      "events/s": round(rateOf(carrier)),
      "of undici": share(rateOf(carrier) / rateOf("undici")),
      "µs of processor": micros(cpuOf(carrier)),
    })),
  );
  aims.atLeast(0.8, rateOf("memory") / rateOf("undici"), "memory: delivery's rate, of bare undici's");
}

async function benchLoopDelay(): Promise<void> {
  const events = quick ? 10_000 : 100_000;
  const delayOf = (tracks: boolean) => resultOf<LoopDelayReport>("loop-delay", { events, tracks });
  const rows = [
    { what: "only made up", ...(await delayOf(false)) },
    { what: "handed over to disk", ...(await delayOf(true)) },
  ];
  section(
    "The event loop",
    `Its delay while ${round(events)} events are handed over to the disk outbox as fast as it stores them.`,
    rows.map(({ what, p99Ms, longestMs }) => ({
      events: what,
      "p99, ms": millis(p99Ms),
      "longest, ms": millis(longestMs),
    })),
  );
}

const [cpu] = cpus();
print(
  `# What it costs\n\nNode ${process.versions.node}, ${cpus().length} cores (${cpu?.model.trim()}), everything on one machine: ` +
    "the requests, the host and the service share its cores.",
);
await benchHost();
await benchHandOver();
await benchDelivery();
await benchLoopDelay();
print(`\n## Aims\n\n${tableOf(aims.rows())}`);
if (!quick) {
  mkdirSync(dirname(RESULTS), { recursive: true });
  writeFileSync(RESULTS, `${report.join("\n")}\n`);
}
