/**
 * `npm run proof kill -- --outbox disk,postgres,mysql --kills 20`
 *
 * Three shops share an outbox: in a directory, or in a PostgreSQL or MariaDB server that is started
 * for them. Each of a visitor's events is reported through another of the three. The service fails
 * one request in ten, and is slow, there and away in turn. One, two or all three shops are killed
 * with SIGKILL at a random moment, and replaced; a server is restarted meanwhile. Now and then one is
 * stopped (SIGSTOP) for longer than its lease, and goes on. In the end every event whose visitor got
 * an answer must have reached the service, in its visitor's order, payments once; or be held, if it
 * cannot be known whether the service has that payment: no more than were cut off, or under way in a
 * shop that was killed or lost its leases meanwhile. On the disk, some handlers await nothing, and
 * answer before the receipt is there. Exits with 1 if that is not so.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { spoolsBeside } from "../src/outbox/disk/spool/spool-files.js";
import {
  CONCURRENCY,
  type Happened,
  LEASE_MS,
  openAt,
  type Place,
  proveEach,
  runShop,
  type Said,
} from "./kill/shop.js";
import type { Server } from "./outboxes/server.js";
import { allHold, secondsUntil } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { scratch } from "./shared/scratch.js";
import { answer, fateOf, startService } from "./shared/service.js";

const SHOPS = 3;
const VISITORS_AT_ONCE = 64;
const EVENTS_OF_A_VISITOR = 20;
const FAILURES = 0.1;
const SLOW_MS = 300;
/** A shop is stopped after the first kill, and after each so many more. */
const KILLS_BETWEEN_STOPS = 6;
const STOPPED_MS = LEASE_MS + 2_000;

const { options, words } = commandLine({ outbox: "disk", kills: 20 });
const { outbox, kills } = options;
await proveEach(outbox, words, runShop, prove);

interface Shop {
  readonly child: ChildProcess;
  readonly port: number;
}

async function prove(kind: Place["kind"], server: Server | undefined): Promise<boolean> {
  console.log(`${kind}, Node ${process.version}: ${SHOPS} shops, killed ${kills} times`);
  const place: Place = { kind, at: server?.uri ?? scratch() };
  const { service, conduct } = await startFaultyService();
  const shops = new Set<Shop>();
  /** What visitors got an answer to. */
  const safe = new Set<string>();
  const errors: string[] = [];
  let visitors = 0;
  let killed = 0;
  let stopped = 0;
  let isOver = false;

  async function startShop(): Promise<void> {
    const options = JSON.stringify({ url: service.url, ...place });
    const child = fork(fileURLToPath(import.meta.url), [options]);
    child.on("message", ({ error }: Said) => error && errors.push(error));
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    const shop = { child, port };
    shops.add(shop);
    child.once("exit", (code, signal) => {
      if (shops.has(shop)) errors.push(`a shop has ended by itself: ${signal ?? code}`);
      shops.delete(shop);
    });
  }

  /** A visitor after the other. */
  async function visit(): Promise<void> {
    while (!isOver) {
      const name = `v${visitors++}`;
      for (let nth = 1; nth <= EVENTS_OF_A_VISITOR && !isOver; nth++) {
        const path = kind === "disk" ? ["/awaited", "/awaited", "/wrapped", "/called"][nth % 4] : "/awaited";
        // What is not awaited may be stored after what comes later: it is another visitor's.
        const visitor = path === "/awaited" ? name : `${name}.${nth}`;
        const status = await answerTo(`${path}`, { visitor, nth });
        safe.add(`${visitor} ${nth}`);
        // It waits in a shop's spool file: what comes to another shop may be stored before it.
        if (status === 202) break;
      }
    }
  }

  let turn = 0;
  /** Asks another shop until one answers. Resolves to its status. */
  async function answerTo(path: string, happened: Happened): Promise<number> {
    const headers = { "content-type": "application/json", cookie: `svc_session_id=${happened.visitor}` };
    const options = { method: "POST", headers, body: JSON.stringify(happened) } as const;
    for (;;) {
      const shop = [...shops][turn++ % shops.size];
      try {
        const { statusCode, body } = await request(`http://127.0.0.1:${shop?.port}${path}`, options);
        // Once the head is there, the visitor has seen it go through.
        body.on("error", () => {}).resume();
        if (![200, 202].includes(statusCode)) errors.push(`${path} answered ${statusCode}`);
        return statusCode;
      } catch {
        await sleep(20);
      }
    }
  }

  async function killSome(number: number): Promise<void> {
    const victims = [...shops].slice(0, number);
    for (const shop of victims) {
      shops.delete(shop);
      shop.child.kill("SIGKILL");
    }
    await Promise.all(victims.map(({ child }) => once(child, "exit")));
    killed += victims.length;
  }

  /** The others take over what it has claimed. */
  async function stopOne(): Promise<void> {
    const [shop] = [...shops] as [Shop];
    // Visitors go to the others.
    shops.delete(shop);
    shop.child.kill("SIGSTOP");
    await sleep(STOPPED_MS);
    shop.child.kill("SIGCONT");
    shops.add(shop);
    stopped++;
  }

  await Promise.all(Array.from({ length: SHOPS }, startShop));
  const visits = Array.from({ length: VISITORS_AT_ONCE }, visit);
  for (let nth = 0; nth < kills; nth++) {
    const { size } = safe;
    await secondsUntil(() => safe.size > size, 60);
    await sleep(Math.random() * 600);
    const number = 1 + (nth % SHOPS);
    await killSome(number);
    conduct.slowMs = number === 1 ? SLOW_MS : 0;
    // It goes away if nothing is under way, and so cuts nothing off.
    if (number === SHOPS) await service.goAway();
    else await service.comeBack();
    await Promise.all(Array.from({ length: number }, startShop));
    if (nth % KILLS_BETWEEN_STOPS === 0) await stopOne();
    if (server && nth === Math.floor(kills / 2)) {
      await server.halt("fast");
      await sleep(1_000);
      await server.resume();
    }
  }
  isOver = true;
  await Promise.all(visits);
  conduct.slowMs = 0;
  await service.comeBack();

  const { outbox, end } = openAt(place);
  // One that holds more than its empty first line is to be taken in.
  const isTakenIn = ({ path }: { path: string }) =>
    (statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= 1;
  const hasSpools = () => kind === "disk" && !spoolsBeside(join(place.at, "outbox.db")).every(isTakenIn);
  // An endpoint that left payments unanswered is tried again after 3.5 times as long: `costlyProbeMs`.
  const most = 300 + (4 * performance.now()) / 1_000;
  await secondsUntil(async () => !hasSpools() && (await outbox.look()).queued === 0, most);
  const { queued } = outbox.counts();
  const letters = await outbox.deadLetters.list({ limit: 1_000_000 });
  await outbox.close();
  await end();
  const last = [...shops];
  shops.clear();
  await Promise.all(last.map(({ child }) => child.send("close") && once(child, "exit")));
  await service.goAway();

  const held = letters.filter(({ reason, kind }) => reason === "unconfirmed" && kind === "payment");
  const interrupted = held.filter(({ code }) => code === "ERR_INTERRUPTED").length;
  const { arrived, lost, paymentsTwice, othersTwice, outOfOrder } = fateOf(
    safe,
    service.arrivals.map((arrival) => ({ ...arrival, key: `${arrival.visitor} ${arrival.nth}` })),
    held.map(({ event }) => ("paymentId" in event ? event.paymentId : "")),
  );
  for (const error of errors.slice(0, 10)) console.log(`unexpected: ${error}`);
  // A server that is restarted also costs leases.
  const cutShort = (killed + stopped + (server ? SHOPS : 0)) * CONCURRENCY;
  return allHold(
    ["shops killed", killed],
    ["shops stopped", stopped],
    ["events answered", safe.size, { atLeast: 1 }],
    ["events at the service", arrived],
    ["requests refused", conduct.refused],
    ["requests cut off", conduct.cutOff],
    ["events still queued", queued, { atMost: 0 }],
    ["events lost", lost, { atMost: 0 }],
    ["events out of order", outOfOrder, { atMost: 0 }],
    ["payments twice", paymentsTwice, { atMost: 0 }],
    ["others twice, with the same key", othersTwice],
    ["payments held: interrupted", interrupted, { atMost: cutShort }],
    ["payments held: without an answer", held.length - interrupted, { atMost: conduct.cutOff }],
    ["other dead letters", letters.length - held.length, { atMost: 0 }],
    ["unexpected", errors.length, { atMost: 0 }],
  );
}

/** Refuses most of its share of requests, and cuts some off before or after it takes the event. */
async function startFaultyService() {
  const conduct = { slowMs: 0, refused: 0, cutOff: 0 };
  const service = await startService((res, take) => {
    const luck = res.req.method === "POST" ? Math.random() : 1;
    if (luck < FAILURES * 0.8) {
      conduct.refused++;
      res.writeHead(503).end();
      return;
    }
    if (luck >= FAILURES * 0.9) take();
    if (luck < FAILURES) {
      conduct.cutOff++;
      res.req.socket.destroy();
      return;
    }
    // A kill may come in between.
    setTimeout(answer, conduct.slowMs + Math.random() * 15, res);
  });
  return { service, conduct };
}
