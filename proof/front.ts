/**
 * `npm run proof front -- browser --short`
 *
 * The way from a visitor's browser to the service, with the real programs: Chromium, shared caches,
 * outgoing proxies. Runs the parts that are named, or all: each is a file in proof/front/. Prints
 * for each scenario how many visitors came, and their clicks, sign-ups and payments at the service
 * beside those that were expected. Exits with 1 if one is missing, repeated or credited to another
 * affiliate.
 */
import { type Part, rowsOf, wrongOf } from "./front/shared/part.js";
import { columns, holds, linesOf } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { runParts } from "./shared/run-parts.js";

const { options, words } = commandLine({ short: false });

await runParts<Part>("front", words, async (part) => {
  const { scenes, figures = [] } = await part.prove(options);
  const wrong = scenes.flatMap(wrongOf);
  return {
    lines: [...columns(rowsOf(scenes)), ...linesOf(figures), ...wrong.map((text) => `  ${text}`)],
    kept: wrong.length === 0 && figures.every(holds),
  };
});
