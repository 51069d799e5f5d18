import { runInThisContext } from "node:vm";

/**
 * Tasks for one event of the process. They share one listener: Node warns of a leak if there are many.
 *
 * Jest gives each test file a `process` of its own, which emits nothing. `exit` is the real one's: a thread has to end before
 * its process. `beforeExit` is not: what a test has left does not keep Jest alive.
 */
export function createProcessHooks(event: "beforeExit" | "exit") {
  const tasks = new Set<() => void>();
  const emitter: NodeJS.Process = event === "exit" ? runInThisContext("process") : process;

  function run(): void {
    for (const task of tasks) task();
  }

  return {
    add(task: () => void): void {
      if (tasks.size === 0) emitter.on(event as "exit", run);
      tasks.add(task);
    },
    remove(task: () => void): void {
      tasks.delete(task);
      if (tasks.size === 0) emitter.off(event, run);
    },
  };
}
