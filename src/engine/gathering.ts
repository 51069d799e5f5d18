import { clearTimeout, setImmediate, setTimeout } from "../shared/real-timers.js";

/** Puts tasks off, so that what comes meanwhile is done together with them. */
export interface Gathering {
  /** Runs a task at the end of this turn of the event loop; where more is to come, a moment later. */
  soon(task: () => void): void;
  /** What was put off waits no longer than for a short moment from now. */
  hurry(): void;
  /** Nothing more is to come: what was put off runs at the end of this turn. */
  complete(): void;
}

/**
 * @param options.isMoreToCome asked of each task.
 * @param options.forMs how long a task waits for what is to come, at most.
 * @param options.isPatient whether nothing waits for the tasks: they may wait for `longerMs`.
 */
export function createGathering({
  isMoreToCome,
  forMs,
  isPatient = () => false,
  longerMs = forMs,
}: {
  readonly isMoreToCome: () => boolean;
  readonly forMs: number;
  readonly isPatient?: () => boolean;
  readonly longerMs?: number;
}): Gathering {
  const tasks: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isLonger = false;

  function run(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const task of tasks.splice(0)) task();
  }

  function wait(longer: boolean): void {
    isLonger = longer;
    timer = setTimeout(run, longer ? longerMs : forMs);
  }

  return {
    soon(task) {
      tasks.push(task);
      if (!isMoreToCome()) setImmediate(run);
      else if (!timer) wait(isPatient());
    },
    hurry() {
      if (!timer || !isLonger) return;
      clearTimeout(timer);
      wait(false);
    },
    complete() {
      if (tasks.length > 0) setImmediate(run);
    },
  };
}
