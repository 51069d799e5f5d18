/** Tasks for one event of the process. They share one listener: Node warns of a leak where there are many. */
export function createProcessHooks(event: "beforeExit" | "exit") {
  const tasks = new Set<() => void>();

  function run(): void {
    for (const task of tasks) task();
  }

  return {
    add(task: () => void): void {
      if (tasks.size === 0) process.on(event as "exit", run);
      tasks.add(task);
    },
    remove(task: () => void): void {
      tasks.delete(task);
      if (tasks.size === 0) process.off(event, run);
    },
  };
}
