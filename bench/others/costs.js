import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Agent } from "undici";
import none from "./adapters/none.js";
import { startHost } from "./host.js";
import { startService } from "./service.js";
import { sizeOf } from "./size.js";

const WARM = 1_500;
const PACED = 2_000;
const PACED_MS = 4_000;
const CONNECTIONS = 16;
const FULL_MS = 3_000;
const WAITING = 1_000;
const STARTS = 5;

/** What each adapter costs its host, one after the other, beside the shop without tracking. */
export async function costsOf(adapters, placeFor) {
  const costs = {};
  if (adapters.length === 0) return costs;
  for (const { name, loads, packages } of [none, ...adapters]) {
    costs[name] = {
      healthy: await timesOf(name, "up", placeFor),
      refusing: await timesOf(name, "down", placeFor),
      heapPerEvent: await heapOf(name, placeFor),
      importMs: importMsOf(loads),
      bytesOnDisk: sizeOf(packages),
    };
    console.error("costs", name, JSON.stringify(costs[name]));
  }
  return costs;
}

async function open(adapter, placeFor) {
  const service = await startService();
  const place = { ...(await placeFor(adapter)), service: `http://127.0.0.1:${service.port}` };
  const host = await startHost(adapter, place, ["--expose-gc"]);
  const agent = new Agent({ connections: 256 });
  let nth = 0;
  return {
    service,
    ask: host.ask,
    async visit() {
      const visitor = ++nth;
      const { status } = await host.pay(`e-${visitor}@shop.example`, `visitor-${visitor}`, agent);
      return status === 201;
    },
    async end() {
      const exit = once(host.shop, "exit");
      host.shop.kill("SIGKILL");
      await exit;
      await agent.destroy();
      await service.be("down");
    },
  };
}

/** Microseconds of the main thread for a request at 500 a second; requests a second that succeed, of as many as can be. */
async function timesOf(adapter, mode, placeFor) {
  const shop = await open(adapter, placeFor);
  await full(shop, (count) => count >= WARM);
  if (mode !== "up") await shop.service.be(mode);
  const before = await shop.ask("costs");
  const began = performance.now();
  const visits = [];
  while (visits.length < PACED) {
    const due = Math.min(PACED, Math.ceil(((performance.now() - began) / PACED_MS) * PACED));
    while (visits.length < due) visits.push(shop.visit());
    await sleep(5);
  }
  await Promise.all(visits);
  const after = await shop.ask("costs");
  const start = performance.now();
  const succeeded = await full(shop, () => performance.now() - start > FULL_MS);
  const perSecond = Math.round((succeeded / (performance.now() - start)) * 1_000);
  await shop.end();
  return {
    mainThreadMicros: Math.round((after.mainThreadMicros - before.mainThreadMicros) / PACED),
    perSecond,
  };
}

/** As many requests as the shop can take; how many succeeded. */
async function full(shop, isOver) {
  let count = 0;
  let succeeded = 0;
  async function visitor() {
    while (!isOver(count)) {
      count++;
      if (await shop.visit()) succeeded++;
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, visitor));
  return succeeded;
}

/** Bytes of the main thread's heap for each event that waits for a service that takes requests and does not answer. */
async function heapOf(adapter, placeFor) {
  // Nothing waits but the visitor.
  if (["none", "awaited-fetch"].includes(adapter)) return null;
  const shop = await open(adapter, placeFor);
  for (let nth = 0; nth < 200; nth++) await shop.visit();
  await sleep(500);
  await shop.service.be("silent");
  const before = await shop.ask("costs");
  for (let nth = 0; nth < WAITING; nth++) await shop.visit();
  await sleep(500);
  const after = await shop.ask("costs");
  await shop.end();
  return Math.round((after.heapUsed - before.heapUsed) / WAITING);
}

/** Milliseconds until what the adapter loads is there, the median of some processes. */
function importMsOf(loads) {
  const imports = loads.map((name) => `await import(${JSON.stringify(name)});`).join(" ");
  const code = `const began = performance.now(); ${imports} console.log(performance.now() - began);`;
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const times = Array.from({ length: STARTS }, () =>
    Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd })),
  ).sort((a, b) => a - b);
  return Math.round(times[(STARTS - 1) / 2]);
}
