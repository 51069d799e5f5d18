import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { median } from "../report.ts";
import { none } from "./adapters/index.js";
import { startHost } from "./host.js";
import { startService } from "./service.js";
import { sizeOf } from "./size.js";

/** Requests a second while it is measured what they cost. */
export const PER_SECOND = 100;
const ROUNDS = 3;
/** Rounds whose greatest figure is above the least by more than a third do not agree. */
const AGREE = 4 / 3;
const FIGURES = ["p50", "p99", "mainThread"];
const STARTS = 5;

/**
 * What each adapter costs its host, one at a time, in rounds: in each, every adapter in turn, after
 * the shop without tracking. A figure whose rounds do not agree is left out.
 */
export async function costsOf(adapters, placeFor, load) {
  const all = adapters.length > 0 ? [none, ...adapters] : [];
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds[round] = {};
    for (const adapter of all) rounds[round][adapter.name] = await pacedWith(adapter, placeFor, load);
  }
  const costs = {};
  for (const adapter of all) {
    const { name, packages = [], loads = packages } = adapter;
    costs[name] = { ...figuresOf(name, rounds), importMs: importMsOf(loads), bytesOnDisk: sizeOf(packages) };
    console.error("costs", name, JSON.stringify(costs[name]));
  }
  return costs;
}

/**
 * Of each figure the ratio to `none` in each round, and `waitMs`: the milliseconds that `p50` is the
 * ratio of. Nothing of those whose rounds do not agree.
 */
function figuresOf(name, rounds) {
  return Object.fromEntries(
    FIGURES.flatMap((figure) => {
      const ratios = rounds.map((round) => round[name][figure] / round.none[figure]);
      // The shop without tracking is its own measure: its rounds have to agree by themselves.
      const judged = name === none.name ? rounds.map((round) => round.none[figure]) : ratios;
      if (Math.max(...judged) > Math.min(...judged) * AGREE) return [];
      const ms = rounds.map((round) => Number(round[name][figure].toFixed(2)));
      return [[figure, ratios], ...(figure === "p50" ? [["waitMs", ms]] : [])];
    }),
  );
}

/**
 * What visitors wait, in milliseconds, and what the main thread works for a request, in
 * microseconds.
 */
async function pacedWith(adapter, placeFor, { warmMs, pacedMs }) {
  const service = await startService();
  const place = { ...(await placeFor(adapter)), service: `http://127.0.0.1:${service.port}` };
  const { shop, ask, pay } = await startHost(adapter.name, place);
  const agent = new Agent({ connections: 256 });
  let visitor = 0;
  const visit = () => pay(`e-${++visitor}@shop.example`, `visitor-${visitor}`, agent);
  await paced(visit, warmMs);
  const before = await ask("mainThread");
  const waited = (await paced(visit, pacedMs)).sort((one, other) => one - other);
  const mainThread = ((await ask("mainThread")) - before) / waited.length;
  shop.kill("SIGKILL");
  await once(shop, "exit");
  await agent.destroy();
  await service.be("down");
  const at = (share) => waited[Math.floor(share * waited.length)];
  return { p50: at(0.5), p99: at(0.99), mainThread };
}

/** One request each hundredth of a second. Returns what each waited. */
async function paced(visit, ms) {
  const began = performance.now();
  const visits = [];
  while (performance.now() - began < ms) {
    visits.push(visit());
    await sleep(Math.max(0, began + (visits.length * 1_000) / PER_SECOND - performance.now()));
  }
  return (await Promise.all(visits)).map(({ waited }) => waited);
}

/** Milliseconds until what the adapter loads is there, the median of some processes. */
function importMsOf(loads) {
  const imports = loads.map((name) => `await import(${JSON.stringify(name)});`).join(" ");
  const code = `const began = performance.now(); ${imports} console.log(performance.now() - began);`;
  const run = () =>
    execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: "bench/others" });
  return Math.round(median(Array.from({ length: STARTS }, () => Number(run()))));
}
