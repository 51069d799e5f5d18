import { runInThisContext } from "node:vm";

/**
 * Tasks for one event of the process, with one listener: Node warns of many.
 *
 * Jest gives each test file its own `process`, which emits nothing. `exit` uses the real one: a
 * thread has to end before its process. `beforeExit` does not: what a test has left does not keep
 * Jest alive.
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
