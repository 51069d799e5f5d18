import { defineConfig } from "tsup";
import { inlineForEsbuild, pageScripts } from "../inline-plugin.js";
import { rawText } from "../tsup.config.js";

/** The benchmarks and the processes that they start, with the package's source in them. */
export default defineConfig({
  entry: ["bench", "dashboard", "delivery", "hand-over", "host", "loop-delay", "service", "start-up"].map(
    (name) => `bench/${name}.ts`,
  ),
  outDir: "node_modules/.cache/bench",
  format: "esm",
  target: "node20",
  splitting: true,
  shims: true,
  silent: true,
  esbuildPlugins: [rawText, pageScripts, inlineForEsbuild],
});
