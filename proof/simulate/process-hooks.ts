/** In place of src/shared/process-hooks.ts: a process that is an object ends without a word. */
export function createProcessHooks(_event: "beforeExit" | "exit") {
  return { add(_task: () => void): void {}, remove(_task: () => void): void {} };
}
