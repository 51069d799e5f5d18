/**
 * `npm run proof world -- gateways --short`, `npm run proof world -- snapshot --outbox postgres`
 *
 * The world around the service, with the real programs: proxies, networks, database servers that
 * are killed. Runs the parts that are named, or all: each is a file in proof/world/. Prints what
 * each part measured beside its bound, and exits with 1 if a bound was missed.
 */
import { kindFrom } from "./outboxes/server.js";
import { holds, linesOf } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { runParts } from "./shared/run-parts.js";
import type { Part } from "./world/shared/part.js";

const { options, words } = commandLine({ short: false, outbox: "" });
const outbox = options.outbox === "" ? undefined : kindFrom(options.outbox);

await runParts<Part>("world", words, async (part) => {
  const figures = await part.prove({ short: options.short, outbox });
  return { lines: linesOf(figures), kept: figures.every(holds) };
});
