import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { adapters } from "./adapters/index.js";
import { costsOf } from "./costs.js";
import { createLimit } from "./limit.js";
import { missing } from "./missing.js";
import { writePages } from "./pages.js";
import { writeResults } from "./results.js";
import { LOAD, scenarios } from "./scenarios.js";
import { startRedis } from "./servers.js";

/** So many scenarios at a time. In one of them something happens, the others only wait. */
const AT_ONCE = 20;
const COSTS = { name: "costs" };
const QUICK = {
  only: ["fetch/errors", "memory/errors"],
  load: { ...LOAD, events: 200, ms: 1_000, quietMs: 3_000, costs: { warmMs: 100, pacedMs: 500 } },
};

/**
 * `npm run bench others`: each adapter in each scenario, then what each costs. The results go to
 * results/ and into the pages.
 *
 * @param startCluster starts a PostgreSQL server.
 * @param only what to measure again: `disk`, `down`, `disk/down`, `costs`. Default: everything.
 * @param quick only sees that it runs: with few payments, nothing installed and nothing written.
 */
export async function run({ startCluster, only = [], quick = false }) {
  const load = quick ? QUICK.load : LOAD;
  const pairs = chosen(quick ? QUICK.only : only);
  const lacking = missing(pairs);
  if (lacking.length > 0) throw new Error(`missing:\n${lacking.map((each) => `  ${each}`).join("\n")}`);

  const scratch = mkdtempSync(join(tmpdir(), "express-affiliate-others-"));
  const servers = await startServers(pairs, scratch, startCluster);
  const keep = quick ? () => {} : writeResults;
  const failures = [];
  try {
    const atOnce = createLimit(AT_ONCE);
    const busy = createLimit(1);
    await Promise.all(
      pairs.map(({ adapter: { name: adapter }, act: scenario }) =>
        atOnce(async () => {
          if (scenario === COSTS) return;
          const outcome = await outcomeOf(
            { adapter, scenario, place: await servers.placeFor(adapter), load },
            busy,
          );
          console.error(scenario.name, adapter, JSON.stringify(outcome));
          keep({ outcomes: { [scenario.name]: { [adapter]: outcome } } });
        }).catch((error) => failures.push(error)),
      ),
    );
    const measured = pairs.filter(({ act }) => act === COSTS).map(({ adapter }) => adapter);
    keep({ costs: await costsOf(measured, servers.placeFor, load.costs) });
    if (failures.length > 0) throw new AggregateError(failures, "some have to be measured again");
    if (!quick) writePages();
  } finally {
    await servers.stop();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
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
        only.length === 0 ||
        only.some((names) => names.split("/").every((name) => name === adapter.name || name === act.name)),
    );
}

async function startServers(pairs, scratch, startCluster) {
  const needs = (server) => pairs.some(({ adapter }) => adapter.needs === server);
  const redis = needs("redis") ? await startRedis(scratch) : undefined;
  const cluster = needs("postgres") ? await startCluster() : undefined;
  const dist = fileURLToPath(new URL("../../dist", import.meta.url));
  let runs = 0;
  return {
    /** A directory, a queue's name and a database of its own. */
    async placeFor(adapter) {
      const server = adapters.find((each) => each.name === adapter)?.needs;
      const name = `run_${++runs}`;
      const directory = join(scratch, name);
      mkdirSync(directory);
      const postgres = server === "postgres" ? await createDatabase(cluster, name) : undefined;
      return { run: name, directory, redis: redis?.port, postgres, dist };
    },
    async stop() {
      redis?.stop();
      await cluster?.destroy();
    },
  };
}

async function createDatabase({ connectionString }, name) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return connectionString.replace(/[^/]*$/, name);
}

/**
 * Runs one scenario in a process of its own. Nothing else happens until its payments have arrived,
 * or no more come for now.
 */
async function outcomeOf(argument, busy) {
  const said = await busy(async () => {
    const child = fork(fileURLToPath(new URL("run-one.js", import.meta.url)), [JSON.stringify(argument)]);
    const failed = once(child, "exit").then(([code]) => {
      throw new Error(`${argument.adapter}, ${argument.scenario.name}: its process ended with ${code}`);
    });
    failed.catch(() => {});
    const said = () => Promise.race([once(child, "message"), failed]).then(([message]) => message);
    await said();
    const calm = said();
    child.send("go");
    await calm;
    return said;
  });
  return said();
}
