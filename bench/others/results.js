import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { adapters } from "./adapters/index.js";
import { LOAD, scenarios } from "./scenarios.js";

const FILE = "bench/results/others-node-20.json";

/** The last results: `measuredOn`, `outcomes` by scenario and adapter, `costs` by adapter. */
export const readResults = () => JSON.parse(readFileSync(FILE, "utf8"));

/** Puts what was measured in place of what was measured before. */
export function writeResults({ outcomes = {}, costs = {} }) {
  const before = readResults();
  const names = adapters.map(({ name }) => name);
  const measuredOn = {
    node: process.versions.node,
    cores: availableParallelism(),
    payments: LOAD.events,
    inMs: LOAD.ms,
  };
  const inScenarios = scenarios.map(({ name }) => [
    name,
    rows({ ...before.outcomes[name], ...outcomes[name] }, names),
  ]);
  const json = block([
    ["measuredOn", JSON.stringify(measuredOn)],
    ["outcomes", block(inScenarios)],
    ["costs", rows({ ...before.costs, ...costs }, ["none", ...names])],
  ]);
  writeFileSync(FILE, `${json}\n`);
}

/** Each of the names that was measured is one line, so that a diff shows what was measured anew. */
const rows = (all, names) =>
  block(names.filter((name) => all[name]).map((name) => [name, JSON.stringify(all[name])]));

/** An object as JSON, of names and the JSON of what they stand for. */
const block = (parts) => `{\n${parts.map(([name, json]) => `"${name}": ${json}`).join(",\n")}\n}`;
