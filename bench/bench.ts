/**
 * `npm run bench`, or `npm run bench -- --quick`, or `npm run bench -- --only backlog`
 *
 * What the package costs a host, measured against a host without it, or with what one would write
 * without it, in the same run. Prints it, writes it to bench/results/, and on Node 20 puts its
 * figures into the pages. `--quick` only sees that everything runs, `--only` measures one section
 * (`SECTIONS`); both write nothing.
 *
 * `npm run bench figures`: puts the figures of the last run into the pages again.
 *
 * `npm run bench others`, or `npm run bench others -- --only disk/down`: beside what people use
 * today. See bench/others/run.js.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { writeFigures } from "./figures.js";
import { compareWithOthers } from "./others/run.js";
import { type Bench, createReport } from "./report.js";
import { benchDelivery } from "./sections/delivery.js";
import { benchMainThread } from "./sections/main-thread.js";
import { benchStartUp } from "./sections/start-up.js";

const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  answers: benchDelivery("answers"),
  backlog: benchDelivery("backlog"),
  burst: benchDelivery("burst"),
  "main-thread": benchMainThread,
  "start-up": benchStartUp,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, only: { type: "string", multiple: true } },
});
if (positionals[0] === "others") {
  await compareWithOthers({ only: values.only ?? [], quick: values.quick });
  process.exit();
}
if (positionals[0] === "figures") {
  writeFigures();
  process.exit();
}
const { quick, only = Object.keys(SECTIONS) } = values;
const results = `bench/results/node-${process.versions.node.split(".")[0]}.md`;

const report = createReport();
const [cpu] = cpus();
report.print(
  `# What it costs\n\nNode ${process.versions.node}, ${cpus().length} cores (${cpu?.model.trim()}), everything on one machine: ` +
    `the requests, the host and the service share its cores. Its load before: ${loadavg()[0]?.toFixed(1)}.`,
);
for (const name of only) {
  const section = SECTIONS[name];
  if (!section)
    throw new Error(`\`--only\` must be one of ${Object.keys(SECTIONS).join(", ")}, got "${name}"`);
  await section({ report, quick });
}
if (quick && !values.only) await compareWithOthers({ quick });
report.progress("done");
if (!quick && !values.only) {
  writeFileSync(results, report.text());
  writeFigures();
}
