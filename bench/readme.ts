import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type Cell, tableOf } from "./table.js";

const README = "bench/results/README.md";
const NODES = ["20", "24"] as const;
const BEGIN = "<!-- begin: aims, from results/ by `npm run bench` -->";
const END = "<!-- end: aims -->";

/**
 * Puts what was aimed at, and what the last results of each Node are, into bench/results/README.md.
 */
export function writeSummary(): void {
  writeFileSync(README, withSummary(readFileSync(README, "utf8"), readResults()));
}

/** The files of results that there are, by the major version of Node. */
export function readResults(): ReadonlyMap<string, string> {
  const paths = NODES.map((major) => [major, `bench/results/node-${major}.md`] as const);
  return new Map(
    paths.filter(([, path]) => existsSync(path)).map(([major, path]) => [major, readFileSync(path, "utf8")]),
  );
}

/** The page with the table that follows from the results, in place of the one that it has. */
export function withSummary(page: string, results: ReadonlyMap<string, string>): string {
  const [before, rest = ""] = page.split(BEGIN);
  const [, after] = rest.split(END);
  if (after === undefined) throw new Error(`${README} must have "${BEGIN}" and "${END}"`);
  return `${before}${BEGIN}\n\n${tableOf(summaryOf(results))}\n\n${END}${after}`;
}

function summaryOf(results: ReadonlyMap<string, string>): Record<string, Cell>[] {
  const rows = new Map<string, Record<string, Cell>>();
  for (const [major, text] of results) {
    for (const [aim = "", bound = "", measured = "", reached = ""] of aimsOf(text)) {
      const empty = Object.fromEntries(NODES.map((node) => [`Node ${node}`, ""]));
      const row = rows.get(aim) ?? { aim, bound, ...empty };
      row[`Node ${major}`] = reached === "yes" ? measured : `${measured}, not reached`;
      rows.set(aim, row);
    }
  }
  return [...rows.values()];
}

/** The cells of each row of the table of aims. */
function aimsOf(text: string): string[][] {
  const [, section = ""] = text.split("\n## Aims\n");
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
