import { readFileSync, writeFileSync } from "node:fs";
import { rowsOf } from "../test/helpers/docs/results.js";
import { between, type Cell, tableOf } from "./table.js";

const README = "bench/results/README.md";
const NODES = ["20", "24"] as const;
const MARKS = ["<!-- begin: aims, from results/ by `npm run bench` -->", "<!-- end: aims -->"] as const;

/**
 * Puts what was aimed at, and what the last results of each Node are, into bench/results/README.md.
 */
export function writeSummary(): void {
  writeFileSync(README, withSummary(readFileSync(README, "utf8"), readResults()));
}

/** The files of results, by the major version of Node. */
export const readResults = (): ReadonlyMap<string, string> =>
  new Map(NODES.map((major) => [major, readFileSync(`bench/results/node-${major}.md`, "utf8")]));

/** The page with the table that follows from the results, in place of the one that it has. */
export function withSummary(page: string, results: ReadonlyMap<string, string>): string {
  return between(page, MARKS, tableOf(summaryOf(results)));
}

function summaryOf(results: ReadonlyMap<string, string>): Record<string, Cell>[] {
  const rows = new Map<string, Record<string, Cell>>();
  for (const [major, text] of results) {
    for (const { aim = "", bound = "", measured = "", reached } of rowsOf(text, "Aims")) {
      const empty = Object.fromEntries(NODES.map((node) => [`Node ${node}`, ""]));
      const row = rows.get(aim) ?? { aim, bound, ...empty };
      row[`Node ${major}`] = reached === "yes" ? measured : `${measured}, not reached`;
      rows.set(aim, row);
    }
  }
  return [...rows.values()];
}
