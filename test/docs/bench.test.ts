import { describe, expect, it } from "vitest";
import { readResults, withSummary } from "../../bench/readme.js";
import { textOf } from "../helpers/docs/pages.js";
import { measured } from "../helpers/docs/results.js";

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

describe("what README.md says of the cost", () => {
  const [, section = ""] = textOf("README.md").split("\n## What it costs\n");
  const text = (section.split("\n## ")[0] ?? "").replaceAll("\n", " ");
  const numbersIn = (pattern: RegExp) => (pattern.exec(text) ?? []).slice(1).map(Number);

  it.each([
    ["1 in 100", /(\d+) % of its throughput where one request in a hundred/],
    ["every request", /(\d+) % where every request/],
  ])("is the throughput that was measured on Node 20, %s tracked", (tracked, pattern) => {
    const row = { way: "memory", "the service": "healthy", tracked };
    const [ofNode20 = Number.NaN] = measured("The host", "throughput", row);
    const [said = Number.NaN] = numbersIn(pattern);
    expect(Math.abs(said - 100 * ofNode20)).toBeLessThan(6);
  });

  it("is what a report and an event that waits take, on both Nodes", () => {
    const [least = Number.NaN, most = Number.NaN] = numbersIn(/takes (\d+) to (\d+) µs of the main thread/);
    for (const micros of measured("Handing over", "µs of main thread", { outbox: "memory" })) {
      expect(micros).toBeGreaterThan(least - 1);
      expect(micros).toBeLessThan(most + 1);
    }
    const [bytes = Number.NaN] = numbersIn(/takes about (\d+) bytes of heap/);
    for (const each of measured("Handing over", "bytes of heap", { outbox: "memory" })) {
      expect(bytes / each).toBeGreaterThan(0.85);
      expect(bytes / each).toBeLessThan(1.15);
    }
  });
});
