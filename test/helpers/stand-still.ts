import { readdirSync, readFileSync } from "node:fs";

/**
 * Stops a process of ours, and returns when each of its threads stands still: SIGSTOP alone lets
 * some finish what they are at.
 */
export function standStill(pid: number): void {
  process.kill(pid, "SIGSTOP");
  const tasks = `/proc/${pid}/task`;
  while (!readdirSync(tasks).every((task) => isStill(`${tasks}/${task}/stat`)));
}

function isStill(stat: string): boolean {
  try {
    // Stopped, or ended. The state comes after the program's name, which is in brackets.
    return /^.*\) [TZX] /.test(readFileSync(stat, "latin1"));
  } catch {
    // It has ended.
    return true;
  }
}
