import { describe, expect, it } from "vitest";
import { adapters } from "../../bench/others/adapters/index.js";
import { outcomeOf } from "../../bench/others/outcome.js";
import { PAGES, withShort, withWhole } from "../../bench/others/pages.js";
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
    const visit = (nth: number, status = 201, answered = 0) => ({
      ...{ email: `e-${nth}@shop.example`, status, isUnserved: status === 0, answered },
    });
    const arrival = (nth: number, key?: string) => ({ email: `e-${nth}@shop.example`, key, when: 100 * nth });
    const outcome = outcomeOf({
      visits: [
        ...[visit(0), visit(1, 500), visit(2, 201, 40), visit(3, 201, 48)],
        ...[visit(4), visit(5, 0), visit(6)],
      ],
      // The second is the first one's visitor, and so are the fourth and the sixth.
      arrivals: [arrival(4, "a"), arrival(0), arrival(6), arrival(4, "a"), arrival(6)],
      held: ["e-2@shop.example"],
      ended: 150,
      killedAt: 50,
      visitors: 2,
    });
    expect(outcome).toEqual({
      ...{ happened: 5, arrived: 3, held: 1, twice: 2, repeatedKeys: 1, outOfOrder: 1, lastMs: 450 },
      answeredMs: { first: -2, last: -2 },
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

  it("says of a payment that is not there whether it was given up, and of a repetition whether it has its id", () => {
    const numbers = { happened: 12, arrived: 9, held: 2, twice: 4, repeatedKeys: 3 };
    const outcome = { ...results.outcomes.down.fetch, ...numbers };
    const others = { ...results, outcomes: structuredClone(results.outcomes) };
    others.outcomes.down.fetch = outcome;
    const said = () =>
      /^\| service down for 10 s \| ([^|]+) \|/m.exec(withShort(textOf("README.md"), others))?.[1];
    expect(said()).toBe("1 missing, 2 given up, 4 repeated");
    outcome.repeatedKeys = 4;
    expect(said()).toBe("1 missing, 2 given up, 4 repeated*");
    outcome.outOfOrder = 5;
    expect(withWhole(textOf("docs/compare.md"), others)).toContain(
      "| service down for 10 s | 1 missing, 2 given up, 4 repeated*, 5 late |",
    );
  });

  it("says how long each took after silence, and which has never been done", () => {
    const others = { ...results, outcomes: structuredClone(results.outcomes) };
    const { fetch, disk } = others.outcomes.silent;
    Object.assign(fetch, { happened: 2_000, arrived: 1_900, held: 99, lastMs: 3_000 });
    Object.assign(disk, { happened: 2_000, arrived: 1_994, held: 6, lastMs: 51_293 });
    const row = /^\| until the last came, after that silence \| (.+) \|$/m.exec(
      withWhole(textOf("docs/compare.md"), others),
    );
    const cells = row?.[1]?.split(" | ") ?? [];
    expect([cells.at(0), cells.at(-2)]).toEqual(["never", "51 s"]);
  });

  it("shows the milliseconds beside a ratio of what visitors wait", () => {
    const others = { ...results, costs: structuredClone(results.costs) };
    others.costs.disk.p50 = [1.2, 1.1, 1.3];
    others.costs.disk.waitMs = [2.41, 2.2, 2.6];
    const said = (page: string) => /^\| ours, disk \| (\S+ [^|]*ms) \|/m.exec(page)?.[1];
    expect(said(withWhole(textOf("docs/compare.md"), others))).toBe("1.20, 2.4 ms");
  });

  it("says how close to a kill a payment was answered that is lost although such are kept outside the process", () => {
    const others = { ...results, outcomes: structuredClone(results.outcomes) };
    for (const outcomes of [others.outcomes.kill, others.outcomes["kill-down"]])
      for (const name of names) delete outcomes[name].answeredMs;
    const said = () =>
      /not stored yet, in the last (.+) before the kill\./.exec(withWhole(textOf("docs/compare.md"), others));
    expect(said()).toBe(null);
    others.outcomes.kill.disk.answeredMs = { first: -12, last: -2 };
    others.outcomes["kill-down"].disk.answeredMs = { first: -34, last: 1 };
    others.outcomes["kill-down"].postgres.answeredMs = { first: -5, last: -5 };
    expect(said()?.[1]).toBe("34 ms (ours, disk), 5 ms (ours, Postgres)");
  });

  it("has lost no payment of an outbox on a disk or a server that was answered after the kill", () => {
    for (const { kill, "kill-down": down } of [results.outcomes])
      for (const { answeredMs } of [kill.disk, kill.postgres, down.disk, down.postgres])
        expect(answeredMs?.last ?? 0).toBeLessThan(100);
  });
});
