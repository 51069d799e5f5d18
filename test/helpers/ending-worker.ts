import { once } from "node:events";
import type { Worker, WorkerOptions } from "node:worker_threads";

const ENDS_WHEN_TOLD =
  'require("node:worker_threads").parentPort.once("message", () => process.exit(1)).unref();\n';

/**
 * A worker that is given as source, and ends as one that fails does once it is told to: see
 * `endWorker`.
 */
export function endable(Base: typeof Worker): typeof Worker {
  return class extends Base {
    constructor(source: string | URL, options?: WorkerOptions) {
      super(ENDS_WHEN_TOLD + source, options);
    }
  };
}

/**
 * Ends a worker between two of its tasks. `terminate` would tear it out of SQLite's native code,
 * which then aborts the process.
 */
export async function endWorker(worker: Worker): Promise<void> {
  const exited = once(worker, "exit");
  worker.postMessage("end");
  await exited;
}
