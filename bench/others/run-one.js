/**
 * One scenario with one adapter: the service, the visitors, and the shop in a process of its own.
 * Says `ready`, begins when it is asked to, says `calm` once nothing more arrives for now, and at
 * the end what became of the payments. Ends with the process that has started it.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { startHost } from "./host.js";
import { outcomeOf } from "./outcome.js";
import { startNginxBefore } from "./servers.js";
import { startService } from "./service.js";

const { adapter, scenario, place, load } = JSON.parse(process.argv[2]);
const { times = 1, repeatsWithinMs = 5_000 } = scenario;
const AT_MOST_MS = 180_000;
// Kubernetes' default.
const GRACE_MS = 30_000;
const TICK_MS = 5;
const LOOK_MS = 200;
const CALM_MS = 1_000;
const WARM = 240;
const WARM_AT_ONCE = 8;
const WARM_MS = 30_000;

const service = await startService();
const nginx = scenario.nginx ? await startNginxBefore(service.port) : undefined;
const address = `http://127.0.0.1:${nginx?.port ?? service.port}`;
const agent = new Agent();
const shops = [];
let host = await openHost();
let serves = Promise.resolve();

async function openHost() {
  const opened = await startHost(adapter, { ...place, service: address });
  shops.push(opened.shop);
  return opened;
}

/** A load balancer keeps the visitor until a process serves. */
async function visit(email, visitor) {
  await serves;
  return host.pay(email, visitor, agent);
}

async function signal(name) {
  const { shop } = host;
  const replaced = openHost().then((next) => {
    host = next;
  });
  if (name === "SIGKILL") {
    // Nothing serves until the next process does.
    serves = replaced;
    shop.kill(name);
    return;
  }
  // A rolling deployment: the new process serves, then the old one is told to end.
  await replaced;
  shop.kill(name);
  const timer = setTimeout(() => shop.kill("SIGKILL"), GRACE_MS);
  shop.once("exit", () => clearTimeout(timer));
}

async function happen() {
  const { service: changes = [], host: [signalledAt, name] = [] } = scenario;
  await Promise.all([
    ...changes.map(async ([at, mode], nth) => {
      await sleep(at);
      await service.be(mode, (changes[nth + 1]?.[0] ?? at) - at);
    }),
    name && sleep(signalledAt).then(() => signal(name)),
  ]);
}

// So that the first visitors do not wait for the compiler.
for (let nth = 0; nth < WARM; nth += WARM_AT_ONCE) {
  const some = Array.from({ length: WARM_AT_ONCE }, (_, more) => `warm-${nth + more}`);
  await Promise.all(some.map((name) => visit(`${name}@shop.example`, name)));
}
// Otherwise a queue might still send these when the service fails, and the payments would escape.
const warmUntil = performance.now() + WARM_MS;
while (service.arrivals.length < WARM && performance.now() < warmUntil) await sleep(LOOK_MS);
process.once("disconnect", process.exit);
process.send("ready");
await once(process, "message");

const began = performance.now();
const happened = happen();
const wanted = Math.ceil(load.events / times);
const lastOf = new Map();

/**
 * A visitor pays again once the last payment was answered, so that the order in which they happened
 * is known.
 */
function payNth(nth) {
  const visitor = `visitor-${nth % load.visitors}`;
  const paid = Promise.resolve(lastOf.get(visitor)).then(() => visit(`e-${nth}@shop.example`, visitor));
  lastOf.set(visitor, paid);
  return paid;
}

const visits = [];
while (visits.length < load.events) {
  const due = Math.min(load.events, Math.ceil(((performance.now() - began) / load.ms) * load.events));
  while (visits.length < due) visits.push(payNth(visits.length % wanted));
  await sleep(TICK_MS);
}
await happened;
const ended = performance.now();

let seen = 0;
let changed = ended;
let isCalm = false;
for (;;) {
  await sleep(LOOK_MS);
  const now = performance.now();
  const emails = service.arrivals.map(({ email }) => email).filter((email) => email.startsWith("e-"));
  const haveAllArrived = new Set(emails).size === wanted;
  if (emails.length > seen) changed = now;
  seen = emails.length;
  if (!isCalm && (haveAllArrived || now - changed > CALM_MS)) {
    isCalm = true;
    process.send("calm");
  }
  const isEnough = haveAllArrived ? repeatsWithinMs : Math.max(load.quietMs, repeatsWithinMs);
  if (now - changed > isEnough || now - ended > AT_MOST_MS) break;
}
const outcome = outcomeOf({
  visits: await Promise.all(visits),
  held: await host.ask("held"),
  arrivals: service.arrivals,
  ended,
  visitors: load.visitors,
});
for (const shop of shops) shop.kill("SIGKILL");
await nginx?.stop();
process.send(outcome);
