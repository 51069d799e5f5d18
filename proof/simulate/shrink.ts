import type { Outcome } from "./run.js";
import type { Schedule } from "./schedule.js";

const MOST_RUNS = 600;

/** Leaves out steps that are not needed to break the promise: halves first, then smaller parts. */
export async function shrink(
  schedule: Schedule,
  promise: string,
  run: (schedule: Schedule) => Promise<Outcome>,
): Promise<Schedule> {
  let { steps } = schedule;
  let runs = 0;
  for (let parts = 2; steps.length > 0; ) {
    const size = Math.ceil(steps.length / parts);
    let isShorter = false;
    for (let from = 0; from < steps.length && runs < MOST_RUNS; from += size, runs++) {
      const fewer = [...steps.slice(0, from), ...steps.slice(from + size)];
      if ((await run({ ...schedule, steps: fewer })).broken?.promise !== promise) continue;
      steps = fewer;
      isShorter = true;
      break;
    }
    if (runs >= MOST_RUNS || (!isShorter && size <= 1)) break;
    parts = isShorter ? Math.max(2, parts - 1) : Math.min(steps.length, 2 * parts);
  }
  return { ...schedule, steps };
}
