import { clearTimeout, setImmediate, setTimeout } from "../shared/real-timers.js";

/** Waits briefly so that more work joins the same transaction. */
export interface BatchWindow {
  /** Runs a task at the end of this tick; where more is to come, a moment later. */
  soon(task: () => void): void;
  /** Shortens the wait to `forMs`. */
  shorten(): void;
  /** Nothing more is to come: waiting tasks run at the end of this tick. */
  complete(): void;
}

/**
 * @param options.isMoreToCome asked of each task.
 * @param options.forMs how long a task waits for more, at most.
 * @param options.isPatient whether a task may wait for `longerMs`, because no event waits for it.
 */
export function createBatchWindow({
  isMoreToCome,
  forMs,
  isPatient: mayWaitLonger = () => false,
  longerMs = forMs,
}: {
  readonly isMoreToCome: () => boolean;
  readonly forMs: number;
  readonly isPatient?: () => boolean;
  readonly longerMs?: number;
}): BatchWindow {
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
      else if (!timer) wait(mayWaitLonger());
    },
    shorten() {
      if (!timer || !isLonger) return;
      clearTimeout(timer);
      wait(false);
    },
    complete() {
      if (tasks.length > 0) setImmediate(run);
    },
  };
}
