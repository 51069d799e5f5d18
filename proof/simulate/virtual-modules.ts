import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "esbuild";

const here = join(process.cwd(), "proof/simulate");

/** What the package's modules import, and what they get instead. */
const REPLACED = [
  { specifier: /"[./a-z]*\/real-timers\.js"/, by: "real-timers.ts" },
  { specifier: /"[./a-z]*\/process-hooks\.js"/, by: "process-hooks.ts" },
  { specifier: /"node:worker_threads"/, by: "worker-threads.ts" },
] as const;

/** For esbuild: what of the package touches real time, threads and the process's end is bound to the simulation's instead. */
export const virtualModules: Plugin = {
  name: "virtual-modules",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/, namespace: "file" }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const { specifier, by } of REPLACED) {
        contents = contents.replace(specifier, JSON.stringify(join(here, by)));
      }
      return { contents, loader: "ts" };
    });
  },
};
