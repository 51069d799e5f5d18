/**
 * `npm run proof:simulate -- --seed N --schedules N [--outbox memory|disk] [--programs N] [--trace]`
 */
import { parseArgs } from "node:util";
import { simulate } from "./simulate/main.js";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    schedules: { type: "string", default: "1000" },
    outbox: { type: "string" },
    programs: { type: "string", default: "2" },
    trace: { type: "boolean", default: false },
  },
});

const { schedules, tasks, events, findings } = await simulate({
  seed: Number(values.seed),
  schedules: Number(values.schedules),
  programs: Number(values.programs),
  outbox: values.outbox as "memory" | "disk" | undefined,
  print: console.log,
});
if (values.trace) for (const { trace } of findings) console.log(`\n${trace.join("\n")}`);
const { user, system } = process.cpuUsage();
const seconds = (user + system) / 1e6;
console.log(
  `${schedules} schedules, ${tasks} steps, ${events} events in ${seconds.toFixed(1)} s of processor time: ${findings.length} broken`,
);
process.exitCode = findings.length > 0 ? 1 : 0;
