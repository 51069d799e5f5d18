import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "esbuild";
import { inlineWith } from "../../inline-plugin.js";

const here = join(process.cwd(), "proof/simulate");

/** What the package's modules import, and what they get instead. */
interface Replaced {
  readonly specifier: RegExp;
  readonly by: string;
  /** In these files alone. Default: in all. */
  readonly within?: RegExp;
}

const replacing = (replaced: readonly Replaced[]): Plugin => ({
  name: "virtual-modules",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^simulated:/ }, ({ path }) => ({ path, external: true }));
    onLoad({ filter: /\/src\/.*\.ts$/, namespace: "file" }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const { specifier, by, within } of replaced) {
        if (within && !within.test(path)) continue;
        contents = contents.replace(specifier, JSON.stringify(join(here, by)));
      }
      return { contents, loader: "ts" };
    });
  },
});

const spoolFiles = (by: string): Replaced => ({ specifier: /"\.\/spool-files\.js"/g, by });

/** For esbuild: binds what touches real time, threads, sockets and files to the simulation's. */
export const virtualModules: Plugin[] = [
  replacing([
    { specifier: /"[./a-z]*\/real-timers\.js"/, by: "real-timers.ts" },
    { specifier: /"[./a-z]*\/process-hooks\.js"/, by: "process-hooks.ts" },
    { specifier: /"node:worker_threads"/, by: "worker-threads.ts" },
    { specifier: /"node:crypto"/, by: "crypto.ts", within: /\/disk\/disk-outbox\.ts$/ },
    spoolFiles("spool-files.ts"),
  ]),
  // The thread's script gets its time from the modules that it requires.
  inlineWith([replacing([spoolFiles("thread-spool-files.ts")])]),
];
