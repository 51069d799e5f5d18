/**
 * `npm run proof faults [-- --outbox memory|disk|Postgres|MySQL] [--row TEXT]`
 *
 * For every way in which the service can fail: visitors click, sign up and pay while it is well, while it fails, and when
 * it is well again. Every event must reach it, in its visitor's order; a payment no more than once, and where it is unknown
 * whether it was taken it is held instead, at most one more than are under way at once. Exits with 1 where that is not so.
 *
 * Real sockets; time goes 200 times as fast. Then the promises in numbers, in real time: see faults/promises.ts.
 */

import { parseArgs } from "node:util";
import type { EventKind, OutboxEvent } from "express-affiliate";
import { createDelivery } from "../src/delivery/delivery.js";
import { eventFrom } from "../src/inputs.js";
import { createJournal } from "../src/journal/journal.js";
import { memoryOutbox } from "../src/outbox/memory/memory-outbox.js";
import { callsFor } from "../src/service/calls.js";
import { createTransport } from "../src/service/transport.js";
import { DESTINATION } from "../src/testing/contract/samples.js";
import { hastyClock } from "./faults/hasty-clock.js";
import { provePromises } from "./faults/promises.js";
import { faults, startService, type Taken } from "./faults/service.js";

const HASTE = 200;
const CONCURRENCY = 8;
const VISITORS = 40;
const EACH: readonly EventKind[] = ["click", "registration", "payment", "payment", "payment", "payment"];
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

const { values: only } = parseArgs({ options: { outbox: { type: "string" }, row: { type: "string" } } });

let broken = false;
if (only.outbox === undefined && only.row === undefined) await proveFaults();
broken = !(await provePromises(only)) || broken;
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
  const service = await startService();
  const transport = createTransport({
    baseUrl: service.url,
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
    ambiguous: { click: "retry", registration: "retry", payment: "hold" },
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
        const event = happening(EACH[nth] as EventKind, visitor, nth + 1, clock.now());
        tracked.push(event);
        if ((await outbox.add(event)) !== "queued") fail(new Error("an event was not queued"));
      }
    }
  }

  await track(0, 2);
  await settled(() => outbox.counts().queued === 0);
  await service.fail(fault);
  await track(2, 4);
  const until = clock.now() + FAILS_FOR_MS;
  await settled(() => outbox.counts().queued === 0 || clock.now() > until);
  await service.heal();
  await track(4, 6);
  const deadline = clock.now() + PATIENCE_MS;
  await settled(() => outbox.counts().queued === 0 || clock.now() > deadline);

  delivery.stop();
  await outbox.close();
  await transport.close();
  await service.stop();
  const held = new Set((await outbox.deadLetters.list({ limit: tracked.length })).map(({ id }) => id));
  return judge(tracked, service.taken, held, service.requests);
}

function happening(kind: EventKind, visitor: number, nth: number, now: number): OutboxEvent {
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
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function judge(
  tracked: readonly OutboxEvent[],
  taken: readonly Taken[],
  held: ReadonlySet<string>,
  requests: number,
): Row {
  const times = new Map<string, number>();
  const latest = new Map<string, number>();
  const paidTwice = new Set<string>();
  let outOfOrder = 0;
  for (const { key, visitor, nth, isPayment } of taken) {
    const before = times.get(key) ?? 0;
    times.set(key, before + 1);
    if (before > 0 && isPayment) paidTwice.add(key);
    if (before === 0 && nth < (latest.get(visitor) ?? 0)) outOfOrder++;
    latest.set(visitor, Math.max(nth, latest.get(visitor) ?? 0));
  }
  return {
    tracked: tracked.length,
    received: times.size,
    held: held.size,
    lost: tracked.filter(({ id }) => !times.has(id) && !held.has(id)).length,
    twice: [...times.values()].filter((count) => count > 1).length,
    "paid twice": paidTwice.size,
    "out of order": outOfOrder,
    requests,
  };
}

function fail(error: Error): never {
  throw error;
}
