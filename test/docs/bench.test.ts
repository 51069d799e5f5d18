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

describe("what the pages say of the cost", () => {
  const [, section = ""] = textOf("bench/README.md").split("\n## What it costs\n");
  const text = (section.split("\n## ")[0] ?? "").replaceAll("\n", " ");
  /** `22` is from 22 to 22. */
  function numbersIn(pattern: RegExp, text: string): number[] {
    const [, least, most = least] = pattern.exec(text) ?? [];
    return [least, most].filter((number) => number !== undefined).map(Number);
  }

  it.each([
    ["memory", /a backlog (?:[^|]+\|){2} (\d+) to (\d+) \|/],
    ["disk", /a backlog [^|]+\| (\d+)(?: to (\d+))?;/],
    ["disk, clicks", /clicks (\d+)(?: to (\d+))? \|/],
    ["undici, marked", /which payments are under way (\d+) to (\d+) \|/],
  ])("is the rate at which a backlog was delivered from %s, on both Nodes", (carrier, pattern) => {
    const rates = measured("Delivering", "of undici", { carrier }).map((rate) => Math.round(100 * rate));
    expect(numbersIn(pattern, text)).toEqual([Math.min(...rates), Math.max(...rates)]);
  });

  it.each([
    ["disk", "in 20 ms", /answers in 20 ms[^|]+\| (\d+)(?: to (\d+))?;/],
    ["disk", "in 5 ms", /answers in 20 ms[^|]+\|[^|;]+; (\d+)(?: to (\d+))? \|/],
    ["memory", "in 20 ms", /answers in 20 ms(?:[^|]+\|){2} (\d+)(?: to (\d+))?;/],
    ["memory", "in 5 ms", /answers in 20 ms(?:[^|]+\|){2}[^|;]+; (\d+)(?: to (\d+))? \|/],
  ])("is the rate of payments from %s where answers come %s, on both Nodes", (carrier, answers, pattern) => {
    const rates = measured("Answers", "of undici", { carrier, answers }).map((rate) =>
      Math.round(100 * rate),
    );
    const [least, most = least] = numbersIn(pattern, text);
    expect([least, most]).toEqual([Math.min(...rates), Math.max(...rates)]);
  });

  it.each([
    ["disk", /every request \| (\d+) to (\d+) \|/],
    ["memory", /every request \|[^|]+\| (\d+)(?: to (\d+))? \|/],
    ["undici", /every request (?:\|[^|]+){2}\| (\d+) to (\d+) \|/],
  ])("is what was delivered meanwhile on a host that can do no more, %s, on both Nodes", (way, pattern) => {
    const row = { way, "the service": "healthy", tracked: "every request" };
    const delivered = measured("The host", "delivered of 100", row).map(Math.round);
    expect(numbersIn(pattern, text)).toEqual([Math.min(...delivered), Math.max(...delivered)]);
  });

  it("is what a report and an event that waits take, on both Nodes", () => {
    const pattern = /takes (\d+) to (\d+) µs of the main thread/;
    const [least = Number.NaN, most = Number.NaN] = numbersIn(pattern, text);
    for (const micros of measured("Handing over", "µs of main thread", { outbox: "memory" })) {
      expect(micros).toBeGreaterThan(least - 1);
      expect(micros).toBeLessThan(most + 1);
    }
    const [bytes = Number.NaN] = numbersIn(/takes about (\d+) bytes of heap/, text);
    for (const each of measured("Handing over", "bytes of heap", { outbox: "memory" })) {
      expect(bytes / each).toBeGreaterThan(0.85);
      expect(bytes / each).toBeLessThan(1.15);
    }
  });
});
