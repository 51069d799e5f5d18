import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scheduleOf } from "./profiles.js";
import type { Outcome, Sabotage } from "./run.js";
import type { Schedule } from "./schedule.js";
import { shrink } from "./shrink.js";
import { perform } from "./steps.js";
import { World } from "./world.js";

export type { Outcome, Sabotage, Schedule };
export { scheduleOf, shrink };

export interface Options {
  readonly seed: number;
  readonly schedules: number;
  readonly programs: number;
  readonly outbox?: Schedule["outbox"] | undefined;
  readonly sabotage?: Sabotage | undefined;
  /** After how many findings to stop. Default: never. */
  readonly enough?: number | undefined;
  readonly print?: ((line: string) => void) | undefined;
}

export interface Finding {
  readonly seed: number;
  readonly promise: string;
  readonly message: string;
  /** The shortest schedule found that breaks the same promise. */
  readonly schedule: Schedule;
  readonly trace: readonly string[];
}

export interface Summary {
  readonly schedules: number;
  /** Steps of schedules, turns of virtual event loops, and requests, receipts and notices. */
  readonly steps: number;
  readonly tasks: number;
  readonly events: number;
  readonly findings: readonly Finding[];
}

/** Runs one schedule. The same one gives the same digest. */
export function run(
  schedule: Schedule,
  options: { directory: string; keepsTrace?: boolean; sabotage?: Sabotage | undefined },
): Promise<Outcome> {
  return new World(schedule, options).run(perform);
}

/** Runs the schedules of so many seeds, and shrinks each that breaks a promise. */
export async function simulate(options: Options): Promise<Summary> {
  const { seed: first, schedules, sabotage, print = () => {}, enough = Number.POSITIVE_INFINITY } = options;
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-simulate-"));
  const findings: Finding[] = [];
  let [steps, tasks, events] = [0, 0, 0];
  try {
    for (let seed = first; seed < first + schedules && findings.length < enough; seed++) {
      const schedule = scheduleOf(seed, options);
      const outcome = await run(schedule, { directory, sabotage });
      steps += schedule.steps.length;
      tasks += outcome.tasks;
      events += outcome.events;
      if (outcome.broken) {
        const { promise } = outcome.broken;
        const short = await shrink(schedule, promise, (fewer) => run(fewer, { directory, sabotage }));
        const { broken, trace = [] } = await run(short, { directory, sabotage, keepsTrace: true });
        findings.push({ seed, promise, message: String(broken?.message), schedule: short, trace });
        print(describe(findings.at(-1) as Finding));
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return { schedules, steps, tasks, events, findings };
}

function describe({ seed, message, schedule }: Finding): string {
  const { steps, profile, outbox, processes, programs } = schedule;
  const lines = steps.map(
    ({ at, do: name, ...rest }) => `  ${String(at).padStart(6)} ms  ${name} ${JSON.stringify(rest)}`,
  );
  return [
    `\nseed ${seed} (${profile}; ${outbox}, ${processes} processes, ${programs} programs) breaks a promise:`,
    `  ${message}`,
    ...lines,
  ].join("\n");
}
