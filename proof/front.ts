/**
 * `npm run proof front -- browser --short`
 *
 * The way from a visitor's browser to the service, with the real programs: Chromium, shared caches,
 * an outgoing proxy. Runs the parts that are named, or all: each is a file in proof/front/. Prints
 * for each scenario the clicks, sign-ups and payments at the service beside those that were expected.
 * Exits with 1 if one is missing, repeated or credited to another affiliate.
 */
import type { Part } from "./front/shared/part.js";
import { holds, linesOf } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { runParts } from "./shared/run-parts.js";

/** How many sentences of a part are printed. */
const SENTENCES = 20;
const { options, words } = commandLine({ short: false });

await runParts<Part>("front", words, async (part) => {
  const { scenes, figures = [] } = await part.prove(options);
  const all = [...scenes.flatMap((scene) => scene.figures), ...figures];
  const wrong = scenes.flatMap((scene) => scene.wrong);
  const sentences = wrong.slice(0, SENTENCES).map((text) => `  ${text}`);
  return { lines: [...linesOf(all), ...sentences], kept: wrong.length === 0 && all.every(holds) };
});
