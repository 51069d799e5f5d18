import { textOf } from "./pages.js";

/** The last results of `npm run bench`, on each Node. */
const results = ["20", "24"].map((major) => textOf(`bench/results/node-${major}.md`));

/** The rows of a results' table, each by the names of its columns. */
export function rowsOf(page: string, heading: string): Record<string, string>[] {
  const [, section = ""] = page.split(`## ${heading}\n`);
  const lines = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("|"));
  const [names = [], , ...rows] = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return rows.map((row) => Object.fromEntries(names.map((name, nth) => [name, row[nth] ?? ""])));
}

/** A column of a table, of the rows that are like that, on all Nodes. */
export function measured(heading: string, column: string, like: Record<string, string>): number[] {
  const rows = results.flatMap((text) => rowsOf(text, heading));
  const found = rows.filter((row) => Object.entries(like).every(([name, value]) => row[name] === value));
  const numbers = found.map((row) => Number(row[column]?.replaceAll(",", "")));
  if (numbers.length === 0 || numbers.some(Number.isNaN)) throw new Error(`no ${column} of ${heading}`);
  return numbers;
}
