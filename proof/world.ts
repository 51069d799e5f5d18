/**
 * `npm run proof world -- nginx --short`, `npm run proof world -- snapshot --outbox postgres`
 *
 * The world around the service, with the real programs: proxies, database servers, processes that are killed. Runs the parts
 * that are named, or all: each is a file in proof/world/. Prints what each part measured beside its bound, and exits with 1
 * where a bound was missed.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../test/helpers/docs/pages.js";
import { kindFrom } from "./outboxes/server.js";
import { type Figure, holds, type Part } from "./world/shared/part.js";

const { values, positionals } = parseArgs({
  options: { short: { type: "boolean", default: false }, outbox: { type: "string" } },
  allowPositionals: true,
});
const known = readdirSync(join(root, "proof/world"), { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => name.replace(/\.ts$/, ""));
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no part is named ${unknown}; there are ${known.join(", ")}`);
  process.exit(1);
}

const outbox = values.outbox === undefined ? undefined : kindFrom(values.outbox);
const missed: string[] = [];
for (const name of positionals.length > 0 ? positionals : known) {
  const part: Part = (await import(new URL(`world/${name}.js`, import.meta.url).href)).default;
  const title = `\n${name}: ${part.title}`;
  try {
    const figures = await part.prove({ short: values.short, outbox });
    // In one piece: two proofs may run side by side.
    console.log([title, ...table(figures)].join("\n"));
    if (!figures.every(holds)) missed.push(name);
  } catch (error) {
    console.error(title, error);
    missed.push(name);
  }
}
console.log(missed.length === 0 ? "\nall bounds are kept" : `\nfailed: ${missed.join(", ")}`);
process.exit(missed.length === 0 ? 0 : 1);

function table(figures: readonly Figure[]): string[] {
  const rows = figures.map((figure) => [
    `  ${figure.what}`,
    `${figure.measured}${figure.unit ? ` ${figure.unit}` : ""}`,
    boundOf(figure),
    holds(figure) ? "" : "MISSED",
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function boundOf({ atLeast, atMost }: Figure): string {
  if (atLeast !== undefined && atLeast === atMost) return `exactly ${atLeast}`;
  return [
    atLeast === undefined ? [] : `at least ${atLeast}`,
    atMost === undefined ? [] : `at most ${atMost}`,
  ].join(" ");
}
