/**
 * `npm run proof world -- nginx --short`, `npm run proof world -- snapshot --outbox postgres`
 *
 * The world around the service, with the real programs: proxies, database servers, processes that are killed. Runs the parts
 * that are named, or all: each is a file in proof/world/. Prints what each part measured beside its bound, and exits with 1
 * if a bound was missed.
 */
import { parseArgs } from "node:util";
import { kindFrom } from "./outboxes/server.js";
import { columns, runParts } from "./shared/run-parts.js";
import { figureRow, holds, type Part } from "./world/shared/part.js";

const { values, positionals } = parseArgs({
  options: { short: { type: "boolean", default: false }, outbox: { type: "string" } },
  allowPositionals: true,
});
const outbox = values.outbox === undefined ? undefined : kindFrom(values.outbox);

await runParts<Part>("world", positionals, async (part) => {
  const figures = await part.prove({ short: values.short, outbox });
  return { lines: columns(figures.map(figureRow)), kept: figures.every(holds) };
});
