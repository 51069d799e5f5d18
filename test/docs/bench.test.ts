import { describe, expect, it } from "vitest";
import { readResults, withSummary } from "../../bench/readme.js";
import { textOf } from "../helpers/docs/pages.js";
import { measured } from "../helpers/docs/results.js";

const page = textOf("bench/results/README.md");

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

it("says what the least reaches that knows which payments are under way, on both Nodes", () => {
  const carrier = "undici, marked";
  const [, ...said] =
    /reaches ([\d.]+) to ([\d.]+) of the rate of bare `undici`, at ([\d.]+) to\s([\d.]+) times/.exec(page) ??
    [];
  const rates = measured("Delivering", "of undici", { carrier });
  const costs = measured("Delivering", "times undici's", { carrier });
  expect(said.map(Number)).toEqual([
    ...[Math.min(...rates), Math.max(...rates)],
    ...[Math.min(...costs), Math.max(...costs)],
  ]);
});

describe("what README.md says of the cost", () => {
  const [, section = ""] = textOf("README.md").split("\n## What it costs\n");
  const text = (section.split("\n## ")[0] ?? "").replaceAll("\n", " ");
  /** `22` is from 22 to 22. */
  function numbersIn(pattern: RegExp): number[] {
    const [, least, most = least] = pattern.exec(text) ?? [];
    return [least, most].filter((number) => number !== undefined).map(Number);
  }

  it.each([
    ["memory", /(\d+) to (\d+) % of the rate of bare `undici` from memory/],
    ["disk", /(\d+)(?: to (\d+))? % from disk/],
    ["disk, clicks", /of clicks, .*?, at (\d+) to (\d+) %/],
    ["undici, marked", /which payments are under way reaches (\d+) to (\d+) %/],
  ])("is the rate at which a backlog was delivered from %s, on both Nodes", (carrier, pattern) => {
    const rates = measured("Delivering", "of undici", { carrier }).map((rate) => Math.round(100 * rate));
    expect(numbersIn(pattern)).toEqual([Math.min(...rates), Math.max(...rates)]);
  });

  it.each([
    ["disk", /(\d+) to (\d+) of 100 events are delivered meanwhile from disk/],
    ["memory", /meanwhile from disk, (\d+) to (\d+) from memory/],
    ["undici", /from memory, (\d+) to (\d+) by `undici`/],
  ])("is what was delivered meanwhile on a host that can do no more, %s, on both Nodes", (way, pattern) => {
    const row = { way, "the service": "healthy", tracked: "every request" };
    const delivered = measured("The host", "delivered of 100", row).map(Math.round);
    expect(numbersIn(pattern)).toEqual([Math.min(...delivered), Math.max(...delivered)]);
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
