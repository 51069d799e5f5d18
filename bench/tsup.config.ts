import { defineConfig } from "tsup";
import { inlineForEsbuild, pageScripts } from "../inline-plugin.js";
import { rawText } from "../tsup.config.js";
import others from "./others/package.json" with { type: "json" };

/** The benchmarks and the processes that they start, with the package's source in them. */
export default defineConfig({
  entry: ["bench/*.ts", "!bench/*.config.ts", "bench/others/run-one.js"],
  // The shops of bench/others/ load them, each from the folder that it is in.
  external: Object.keys(others.dependencies),
  outDir: "node_modules/.cache/bench",
  format: "esm",
  target: "node20",
  splitting: true,
  shims: true,
  silent: true,
  esbuildPlugins: [rawText, pageScripts, inlineForEsbuild],
});
