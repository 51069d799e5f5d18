import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { adapters } from "../../bench/others/adapters/index.js";
import { withShort, withWhole } from "../../bench/others/pages.js";
import { readResults } from "../../bench/others/results.js";
import { scenarios } from "../../bench/others/scenarios.js";
import { root, textOf } from "../helpers/docs/pages.js";

const results = readResults();
const names = adapters.map(({ name }) => name);
const manifest = JSON.parse(textOf("bench/others/package.json"));
const lock = JSON.parse(textOf("bench/others/package-lock.json"));

describe("the comparison with what people use today", () => {
  it.each([
    ["README.md", withShort],
    ["docs/compare.md", withWhole],
  ])("shows the last results in %s", (page, withTables) => {
    expect(withTables(textOf(page), results)).toBe(textOf(page));
  });

  it("has a result of each adapter in each scenario, and what each costs", () => {
    expect(Object.keys(results.outcomes)).toEqual(scenarios.map(({ name }) => name));
    for (const outcomes of Object.values(results.outcomes))
      expect(Object.keys(outcomes as object)).toEqual(names);
    expect(Object.keys(results.costs)).toEqual(["none", ...names]);
  });

  it("says of a payment that is not there whether it is held, and of a repetition whether it has its id", () => {
    const outcome = {
      ...results.outcomes.healthy.fetch,
      happened: 12,
      arrived: 9,
      held: 2,
      twice: 4,
      repeatedKeys: 3,
    };
    const others = { ...results, outcomes: structuredClone(results.outcomes) };
    others.outcomes.healthy.fetch = outcome;
    expect(withShort(textOf("README.md"), others)).toContain(
      "| nothing fails | 1 missing, 2 held, 4 repeated |",
    );
    expect(withWhole(textOf("docs/compare.md"), others)).toContain("| nothing fails | 3, 2 held |");
    expect(withWhole(textOf("docs/compare.md"), others)).toContain("| nothing fails | 4, 3 with its id |");
  });

  it("names for each adapter the documentation that it follows", () => {
    for (const { setUp, follows } of adapters) {
      expect(setUp).not.toBe("");
      expect(follows).not.toEqual([]);
    }
  });

  it("pins the version of each package, and names no registry", () => {
    for (const version of Object.values(manifest.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(lock.packages[""].dependencies).toEqual(manifest.dependencies);
    expect(JSON.stringify(lock)).not.toContain("resolved");
  });

  it("needs nothing of the root's dependencies that only the others use", () => {
    const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const ofRoot = { ...own.dependencies, ...own.devDependencies };
    for (const name of Object.keys(manifest.dependencies)) expect(ofRoot).not.toHaveProperty([name]);
    expect(existsSync(join(root, "bench/others/run.js"))).toBe(true);
  });
});
