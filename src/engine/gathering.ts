import { clearTimeout, setImmediate, setTimeout } from "../shared/real-timers.js";

/** Puts tasks off, so that what comes meanwhile is done together with them. */
export interface Gathering {
  /** Runs a task at the end of this turn of the event loop; where more is to come, a moment later. */
  soon(task: () => void): void;
  /** Nothing more is to come: what was put off runs at the end of this turn. */
  complete(): void;
}

/**
 * @param options.isMoreToCome asked of each task.
 * @param options.forMs how long a task waits for what is to come, at most.
 */
export function createGathering({
  isMoreToCome,
  forMs,
}: {
  readonly isMoreToCome: () => boolean;
  readonly forMs: number;
}): Gathering {
  const tasks: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  function run(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const task of tasks.splice(0)) task();
  }

  return {
    soon(task) {
      tasks.push(task);
      if (isMoreToCome()) timer ??= setTimeout(run, forMs);
      else setImmediate(run);
    },
    complete() {
      if (tasks.length > 0) setImmediate(run);
    },
  };
}
