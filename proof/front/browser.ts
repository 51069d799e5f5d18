import { setTimeout as sleep } from "node:timers/promises";
import { createSandbox } from "express-affiliate/sandbox";
import type { Figure } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { launch } from "./browser/chromium.js";
import { scenarios } from "./browser/scenarios.js";
import { startWorld } from "./browser/world.js";
import { countScene } from "./shared/census.js";

export default {
  title: "Chromium, before a shop that counts clicks on every page",
  async prove({ short }) {
    const sandbox = await createSandbox();
    const browser = await launch();
    const world = await startWorld(browser, sandbox);
    const scenes: (() => Figure[])[] = [];
    for (const { name, visit } of scenarios) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: short ? 2 : 5 }, (_, nth) => inTime(visit(world, nth))),
      );
      const visitors = outcomes.flatMap((outcome) =>
        outcome.status === "fulfilled" ? (outcome.value ?? []) : [],
      );
      const errors = outcomes.flatMap((outcome) =>
        outcome.status === "rejected" ? `${outcome.reason}` : [],
      );
      // At the end: what must not count has some time in which it could.
      scenes.push(() => countScene(name, visitors, sandbox.ledger, errors));
    }
    await browser.close();
    await world.close();
    const counted = scenes.flatMap((count) => count());
    await sandbox.close();
    return counted;
  },
} satisfies Part;

/** Rejects if a visit does not end. */
function inTime<T>(visit: Promise<T>): Promise<T> {
  const late = sleep(300_000, undefined, { ref: false }).then(() => {
    throw new Error("a visit has not ended after 300 s");
  });
  return Promise.race([visit, late]);
}
