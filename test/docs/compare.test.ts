import { describe, expect, it } from "vitest";
import { adapters } from "../../bench/others/adapters/index.js";
import { outcomeOf } from "../../bench/others/outcome.js";
import { PAGES } from "../../bench/others/pages.js";
import { readResults } from "../../bench/others/results.js";
import { scenarios } from "../../bench/others/scenarios.js";
import { textOf } from "../helpers/docs/pages.js";

const results = readResults();
const names = adapters.map(({ name }) => name);

describe("the comparison with what people use today", () => {
  it.each(PAGES)("shows the last results in %s", (page, withTables) => {
    expect(withTables(textOf(page), results)).toBe(textOf(page));
  });

  it("counts the payments whose visitor saw that the checkout succeeded", () => {
    const visit = (nth: number, status = 201) => ({
      ...{ email: `e-${nth}@shop.example`, status, isUnserved: status === 0 },
    });
    const arrival = (nth: number, key?: string) => ({ email: `e-${nth}@shop.example`, key, when: 100 * nth });
    const outcome = outcomeOf({
      visits: [visit(0), visit(1, 500), visit(2), visit(3), visit(4), visit(5, 0), visit(6)],
      // The second is the first one's visitor, and so are the fourth and the sixth.
      arrivals: [arrival(4, "a"), arrival(0), arrival(6), arrival(4, "a"), arrival(6)],
      held: ["e-2@shop.example"],
      ended: 150,
      visitors: 2,
    });
    expect(outcome).toEqual({
      ...{ happened: 5, arrived: 3, held: 1, twice: 2, repeatedKeys: 1, outOfOrder: 1, lastMs: 450 },
      visitors: { failed: 1, unserved: 1 },
    });
  });

  it("has a result of each adapter in each scenario, and what each costs", () => {
    expect(Object.keys(results.outcomes)).toEqual(scenarios.map(({ name }) => name));
    for (const outcomes of Object.values(results.outcomes))
      expect(Object.keys(outcomes as object)).toEqual(names);
    const measured = adapters.filter((adapter) => !("costsAs" in adapter)).map(({ name }) => name);
    expect(Object.keys(results.costs)).toEqual(["none", ...measured]);
  });
});
