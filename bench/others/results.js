import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { adapters } from "./adapters/index.js";
import { LOAD, scenarios } from "./scenarios.js";

const FILE = new URL("results/node-20.json", import.meta.url);

/** The last results: `measuredOn`, `outcomes` by scenario and adapter, `costs` by adapter. */
export const readResults = () => JSON.parse(readFileSync(FILE, "utf8"));

/** Puts what was measured in place of what was measured before. */
export function writeResults({ outcomes = {}, costs = {} }) {
  const before = existsSync(FILE) ? readResults() : { outcomes: {}, costs: {} };
  const names = adapters.map(({ name }) => name);
  const pick = (all, of) =>
    Object.fromEntries(of.filter((name) => all[name]).map((name) => [name, all[name]]));
  const results = {
    measuredOn: {
      node: process.versions.node,
      cores: availableParallelism(),
      payments: LOAD.events,
      inMs: LOAD.ms,
    },
    outcomes: Object.fromEntries(
      scenarios.map(({ name }) => [name, pick({ ...before.outcomes[name], ...outcomes[name] }, names)]),
    ),
    costs: pick({ ...before.costs, ...costs }, ["none", ...names]),
  };
  writeFileSync(FILE, inRows(results));
}

/** As JSON. Each measured row is one line, so that a diff shows what was measured anew. */
function inRows({ measuredOn, outcomes, costs }) {
  return `${block({ measuredOn: JSON.stringify(measuredOn), outcomes: block(outcomes, rows), costs: rows(costs) })}\n`;
}

const rows = (all) => block(all, JSON.stringify);

function block(parts, textOf = (part) => part) {
  const lines = Object.entries(parts).map(([name, part]) => `"${name}": ${textOf(part)}`);
  return `{\n${lines.join(",\n")}\n}`;
}
