import { start } from "../child.ts";
import { adapters } from "./adapters/index.js";
import { costsOf } from "./costs.js";
import { writePages } from "./pages.js";
import { writeResults } from "./results.js";
import { LOAD, scenarios } from "./scenarios.js";
import { startServers } from "./servers.js";

/** So many scenarios at a time. In one of them something happens, the others only wait. */
const AT_ONCE = 20;
const COSTS = { name: "costs" };
const QUICK = {
  only: ["fetch/errors", "memory/errors"],
  load: { ...LOAD, events: 200, ms: 1_000, quietMs: 3_000, costs: { warmMs: 100, pacedMs: 500 } },
};

/**
 * `npm run bench others`: each adapter in each scenario, then what each costs. The results go to
 * bench/results/ and into the pages.
 *
 * @param {{ only?: readonly string[], quick?: boolean }} options `only`: what to measure again:
 * `disk`, `down`, `disk/down`, `costs`. Default: everything. `quick`: only sees that it runs: with
 * few payments, nothing installed and nothing written.
 */
export async function compareWithOthers({ only = [], quick = false }) {
  const load = quick ? QUICK.load : LOAD;
  const pairs = chosen(quick ? QUICK.only : only);
  const servers = await startServers(pairs);
  const keep = quick ? () => {} : writeResults;
  const failures = [];
  const left = pairs.filter(({ act }) => act !== COSTS).values();

  async function measureOneByOne() {
    for (const { adapter, act: scenario } of left) {
      try {
        const place = await servers.placeFor(adapter);
        const outcome = await outcomeOf({ adapter: adapter.name, scenario, place, load });
        console.error(scenario.name, adapter.name, JSON.stringify(outcome));
        keep({ outcomes: { [scenario.name]: { [adapter.name]: outcome } } });
      } catch (cause) {
        failures.push(new Error(`${adapter.name}, ${scenario.name}`, { cause }));
      }
    }
  }

  try {
    await Promise.all(Array.from({ length: AT_ONCE }, measureOneByOne));
    const costed = pairs.filter(({ act }) => act === COSTS).map(({ adapter }) => adapter);
    keep({ costs: await costsOf(costed, servers.placeFor, load.costs) });
    if (failures.length > 0) throw new AggregateError(failures, "some have to be measured again");
    if (!quick) writePages();
  } finally {
    await servers.stop();
  }
}

/** Pairs of an adapter and a scenario, or the costs. */
function chosen(only) {
  const acts = [...scenarios, COSTS];
  const known = [...adapters, ...acts].map(({ name }) => name);
  const unknown = only.flatMap((names) => names.split("/")).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`\`--only\` knows ${known.join(", ")}, got "${unknown}"`);
  return acts
    .flatMap((act) => adapters.map((adapter) => ({ adapter, act })))
    .filter(
      ({ adapter, act }) =>
        !(act === COSTS && adapter.costsAs) &&
        (only.length === 0 ||
          only.some((names) => names.split("/").every((name) => name === adapter.name || name === act.name))),
    );
}

/** Resolves once the scenario that was begun last is calm. */
let calm = Promise.resolve();

/**
 * Runs one scenario in a process of its own. Nothing else happens until its payments have arrived,
 * or no more come for now.
 */
async function outcomeOf(argument) {
  const begun = calm.then(async () => {
    const child = await start("others/run-one", argument);
    await child.report();
    return child;
  });
  calm = begun.catch(() => {});
  const child = await begun;
  const outcome = await child.report();
  await child.end();
  return outcome;
}
