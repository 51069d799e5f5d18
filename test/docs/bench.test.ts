import { expect, it } from "vitest";
import { readResults, withSummary } from "../../bench/readme.js";
import { textOf } from "../helpers/docs/pages.js";
import { measured, rowsOf } from "../helpers/docs/results.js";

const page = textOf("bench/results/README.md");

it("the page of results shows for each aim what the last results of both Nodes are", () => {
  const results = readResults();
  expect([...results.keys()]).toEqual(["20", "24"]);
  expect(page).toBe(withSummary(page, results));
});

it("the page of results says of each aim that is not reached that it is not", () => {
  const aims = "\n## Aims\n\n| aim | bound | measured | reached |\n| --- | --- | --- | --- |\n";
  const results = new Map([
    ["20", `${aims}| its rate | at least 0.4 | 0.46 | yes |\n`],
    ["24", `${aims}| its rate | at least 0.4 | 0.39 | no |\n`],
  ]);
  const rows = withSummary(page, results)
    .split("\n")
    .filter((line) => line.startsWith("| its rate"));
  expect(rows.map((row) => row.split("|").map((cell) => cell.trim()))).toEqual([
    ["", "its rate", "at least 0.4", "0.46", "0.39, not reached", ""],
  ]);
});

it("the page of results says on bench/README.md what was measured, on both Nodes", () => {
  const range = (...[heading, column, row]: Parameters<typeof measured>) => {
    const numbers = measured(heading, column, row).map((each) =>
      Math.round(column === "of undici" ? 100 * each : each),
    );
    return [Math.min(...numbers), Math.max(...numbers)];
  };
  const answers = (carrier: string) =>
    ["in 20 ms", "in 5 ms"].map((answers) => range("Answers", "of undici", { carrier, answers }));
  const backlog = (carrier: string) => range("Delivering", "of undici", { carrier });
  const busy = { "the service": "healthy", tracked: "every request" };
  const meanwhile = (way: string) => range("The host", "delivered of 100", { way, ...busy });
  // `22` is from 22 to 22.
  const rangesIn = (cell: string) =>
    [...cell.matchAll(/(\d+)(?: to (\d+))?/g)].map(([, least, most = least]) => [
      Number(least),
      Number(most),
    ]);

  const rows = rowsOf(textOf("bench/README.md"), "What it costs");
  expect(rows.map((row) => Object.values(row).slice(1).map(rangesIn))).toEqual([
    [answers("disk"), answers("memory"), [[100, 100]]],
    [
      [backlog("disk"), backlog("disk, clicks")],
      [backlog("memory")],
      [[100, 100], backlog("undici, marked")],
    ],
    [[meanwhile("disk")], [meanwhile("memory")], [meanwhile("undici")]],
  ]);
});
