import { scratch } from "../shared/scratch.js";
import { scheduleOf } from "./profiles.js";
import { type Outcome, run } from "./run.js";
import type { Schedule } from "./schedule.js";
import { shrink } from "./shrink.js";
import { startRealMysql } from "./sql/real-mysql.js";
import { startRealPostgres } from "./sql/real-postgres.js";
import { SqlServer } from "./sql/server.js";
import type { Sabotage } from "./world.js";

export type { Outcome, Sabotage, Schedule };
export { run, scheduleOf };

export interface Options {
  readonly seed: number;
  readonly schedules: number;
  readonly programs: number;
  readonly outbox?: Schedule["outbox"] | undefined;
  readonly sabotage?: Sabotage | undefined;
  /** After how many findings to stop. Default: never. */
  readonly enough?: number | undefined;
  /** Whether a schedule is shortened that breaks a promise. Default: yes. */
  readonly shrinks?: boolean | undefined;
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

/** Runs the schedules of so many seeds, and shrinks each that breaks a promise. */
export async function simulate(options: Options) {
  const { seed: first, schedules, sabotage, print = () => {}, enough = Number.POSITIVE_INFINITY } = options;
  const directory = scratch();
  const findings: Finding[] = [];
  // Of schedules; turns of virtual event loops; requests, receipts and notices.
  let [steps, tasks, events] = [0, 0, 0];
  const server = await startServer(options.outbox);
  try {
    for (let seed = first; seed < first + schedules && findings.length < enough; seed++) {
      const schedule = scheduleOf(seed, options);
      const outcome = await run(schedule, { directory, sabotage, server });
      steps += schedule.steps.length;
      tasks += outcome.tasks;
      events += outcome.events;
      if (outcome.broken) {
        const { promise, message } = outcome.broken;
        // First of all: to shorten a long one takes minutes, and may not end before CI does.
        print(`\nseed ${seed} breaks a promise: ${message}`);
        const again = (fewer: Schedule) => run(fewer, { directory, sabotage, server });
        const short = options.shrinks === false ? schedule : await shrink(schedule, promise, again);
        const { broken, trace = [] } = await run(short, { directory, sabotage, server, keepsTrace: true });
        findings.push({
          seed,
          promise,
          message: broken?.message ?? `${message} (not again with the same steps)`,
          schedule: short,
          trace,
        });
        print(describe(findings.at(-1) as Finding));
      }
    }
  } finally {
    await server?.destroy();
  }
  return { schedules, steps, tasks, events, findings };
}

/** The server of an outbox that needs one. */
export async function startServer(outbox: Schedule["outbox"] | undefined): Promise<SqlServer | undefined> {
  if (outbox === "mysql") return new SqlServer(await startRealMysql());
  return outbox === "postgres" ? new SqlServer(await startRealPostgres()) : undefined;
}

function describe({ seed, message, schedule }: Finding): string {
  const { steps, profile, outbox, processes, programs } = schedule;
  return [
    `seed ${seed} in short (${profile}; ${outbox}, ${processes} processes, ${programs} programs):`,
    `  ${message}`,
    ...steps.map(
      ({ at, do: name, ...rest }) => `  ${String(at).padStart(6)} ms  ${name} ${JSON.stringify(rest)}`,
    ),
  ].join("\n");
}
