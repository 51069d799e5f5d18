/**
 * `npm run proof faults [-- --outbox memory|disk|Postgres|MySQL] [--row TEXT] [--short]`
 *
 * For every way in which the service can fail: visitors click, sign up and pay while it is well,
 * while it fails, and when it is well again. Every event must reach it, in its visitor's order; a
 * payment no more than once, and if it is unknown whether it was taken it is held instead, at most
 * one more than are under way at once. Exits with 1 if that is not so.
 *
 * Real sockets; time goes 200 times as fast. Then the promises in numbers, in real time: see
 * faults/promises.ts. `--short` shows these with one local outbox and one on a server, chosen by the
 * commit.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { OutboxEvent } from "express-affiliate";
import { eventFrom } from "../src/conversion/event-from.js";
import { IF_MAYBE_TAKEN } from "../src/conversion/kinds.js";
import { createDelivery } from "../src/delivery/delivery.js";
import { createJournal } from "../src/journal/journal.js";
import { memoryOutbox } from "../src/outbox/memory/memory-outbox.js";
import { callsFor } from "../src/service/calls.js";
import { createTransport } from "../src/service/transport.js";
import { DESTINATION } from "../test/contract/samples.js";
import { hastyClock } from "./faults/hasty-clock.js";
import { provePromises } from "./faults/promises.js";
import { faults, startFailingService } from "./faults/service.js";
import { commandLine } from "./shared/options.js";
import { outOfOrderIn, repeatedIn, type Service, timesOf } from "./shared/service.js";

const HASTE = 200;
const CONCURRENCY = 8;
const VISITORS = 40;
const EACH = ["click", "registration", "payment", "payment", "payment", "payment"] as const;
const FAILS_FOR_MS = 120_000;
const PATIENCE_MS = 60 * 60_000;

const columns = [
  "tracked",
  "received",
  "held",
  "lost",
  "twice",
  "paid twice",
  "out of order",
  "requests",
] as const;
type Row = Record<(typeof columns)[number], number>;

const print = (name: string, cells: readonly unknown[]) =>
  console.log(
    name.padEnd(38) +
      cells.map((cell, nth) => String(cell).padStart((columns[nth] ?? "").length + 3)).join(""),
  );

const { options } = commandLine({ outbox: "", row: "", short: false });

let broken = false;
if (options.outbox === "" && options.row === "") await proveFaults();
broken = !(await provePromises(options)) || broken;
console.log(
  broken
    ? "\nA promise is broken."
    : "\nEvery event was received in order, no payment twice; what is unknown is held; and one event stopped no other.",
);
process.exitCode = broken ? 1 : 0;

async function proveFaults(): Promise<void> {
  print("the service", columns);
  for (const fault of Object.keys(faults)) {
    const row = await prove(fault);
    const isKept =
      row.lost === 0 && row["paid twice"] === 0 && row["out of order"] === 0 && row.held <= CONCURRENCY + 1;
    broken ||= !isKept;
    print(fault, [...columns.map((column) => row[column]), isKept ? "" : "  BROKEN"]);
  }
}

async function prove(fault: string): Promise<Row> {
  const clock = hastyClock(HASTE);
  const { service, fail: failBy, heal } = await startFailingService();
  const transport = createTransport({
    baseUrl: new URL(service.url),
    connections: CONCURRENCY,
    // Of the hasty clock, without undici's own.
    connectTimeoutMs: 3_000,
    timeoutMs: 60_000,
    headers: {},
    clock,
  });
  const outbox = memoryOutbox({}, clock);
  const delivery = createDelivery({
    destination: DESTINATION,
    transport,
    calls: callsFor(1),
    keyOf: ({ id }) => id,
    concurrency: CONCURRENCY,
    maxAgeMs: 72 * 60 * 60_000,
    ambiguous: IF_MAYBE_TAKEN,
    journal: createJournal({ logger: { warn() {}, error() {} }, clock }),
    hide: (text) => text,
    onCapacity: outbox.wake,
    clock,
  });
  outbox.start(delivery, { dropped() {}, degraded: fail, recovered() {} });

  const tracked: OutboxEvent[] = [];
  async function track(from: number, to: number): Promise<void> {
    for (let nth = from; nth < to; nth++) {
      for (let visitor = 0; visitor < VISITORS; visitor++) {
        const event = happening(EACH[nth] as (typeof EACH)[number], visitor, nth + 1, clock.now());
        tracked.push(event);
        if ((await outbox.add(event)) !== "queued") fail(new Error("an event was not queued"));
      }
    }
  }

  await track(0, 2);
  await settled(() => outbox.counts().queued === 0);
  await failBy(fault);
  await track(2, 4);
  const until = clock.now() + FAILS_FOR_MS;
  await settled(() => outbox.counts().queued === 0 || clock.now() > until);
  await heal();
  await track(4, 6);
  const deadline = clock.now() + PATIENCE_MS;
  await settled(() => outbox.counts().queued === 0 || clock.now() > deadline);

  delivery.stop();
  await outbox.close();
  await transport.close();
  await service.goAway();
  const held = new Set((await outbox.deadLetters.list({ limit: tracked.length })).map(({ id }) => id));
  return judge(tracked, service, held);
}

function happening(kind: (typeof EACH)[number], visitor: number, nth: number, now: number): OutboxEvent {
  const email = `visitor-${visitor}@shop.example`;
  const input = {
    click: { affiliateReference: "ALICE", source: String(nth) },
    registration: { email, customerName: String(nth) },
    payment: { paymentId: `${visitor}-${nth}`, customerEmail: email, leadValue: nth },
  }[kind];
  // By session alone, so that what the service gets says whose it is.
  return eventFrom(
    kind,
    input,
    { sessionId: `visitor-${visitor}` },
    { clientId: DESTINATION, now },
  ) as OutboxEvent;
}

async function settled(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(5);
}

function judge(
  tracked: readonly OutboxEvent[],
  { arrivals, requests }: Service,
  held: ReadonlySet<string>,
): Row {
  const times = timesOf(arrivals);
  const again = repeatedIn(arrivals);
  const keys = (all: typeof again) => new Set(all.map(({ key }) => key)).size;
  return {
    tracked: tracked.length,
    received: times.size,
    held: held.size,
    lost: tracked.filter(({ id }) => !times.has(id) && !held.has(id)).length,
    twice: keys(again),
    "paid twice": keys(again.filter(({ isPayment }) => isPayment)),
    "out of order": outOfOrderIn(arrivals),
    requests,
  };
}

function fail(error: Error): never {
  throw error;
}
