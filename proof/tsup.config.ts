import { defineConfig, type Options } from "tsup";
import { inlineForEsbuild, pageScripts } from "../inline-plugin.js";
import { rawText } from "../tsup.config.js";
import { virtualModules } from "./simulate/virtual-modules.js";

const common = {
  outDir: "node_modules/.cache/proof",
  external: ["cors", "express-session", "express4", "playwright-core"],
  format: "esm",
  target: "node20",
  shims: true,
  silent: true,
} satisfies Options;

/** The proofs, with the package's source in them. */
export default defineConfig([
  {
    ...common,
    // What is run: a proof, a part of `world`, `front` or `apps`, a process that a part starts.
    entry: [
      "proof/*.ts",
      "proof/world/*.ts",
      "proof/world/processes/*.ts",
      "proof/front/*.ts",
      "proof/apps/*.ts",
      "proof/suites/*.ts",
      "!proof/*.config.ts",
      "!proof/simulate.ts",
    ],
    esbuildPlugins: [rawText, pageScripts, inlineForEsbuild],
  },
  { ...common, entry: ["proof/simulate.ts"], esbuildPlugins: [rawText, pageScripts, ...virtualModules] },
]);
