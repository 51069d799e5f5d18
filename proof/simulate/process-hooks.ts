/** In place of src/shared/process-hooks.ts: a simulated process ends without an event. */
export function createProcessHooks(_event: "beforeExit" | "exit") {
  return { add(_task: () => void): void {}, remove(_task: () => void): void {} };
}
