import { expect, it } from "vitest";
import { readResults, withSummary } from "../../bench/readme.js";
import { textOf } from "../helpers/docs/pages.js";

const page = textOf("bench/README.md");

it("shows for each aim what the last results of both Nodes are", () => {
  const results = readResults();
  expect([...results.keys()]).toEqual(["20", "24"]);
  expect(page).toBe(withSummary(page, results));
});

it("says of each aim that is not reached that it is not", () => {
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
