import { defineConfig, type Options } from "tsup";
import { inlineForEsbuild } from "../inline-plugin.js";
import { rawText } from "../tsup.config.js";
import { virtualModules } from "./simulate/virtual-modules.js";

const common = {
  outDir: "node_modules/.cache/proof",
  external: ["express-session"],
  format: "esm",
  target: "node20",
  shims: true,
  silent: true,
} satisfies Options;

/** The proofs, with the package's source in them. */
export default defineConfig([
  {
    ...common,
    entry: [
      "proof/faults.ts",
      "proof/kill.ts",
      "proof/fleet.ts",
      "proof/churn.ts",
      "proof/fuzz.ts",
      "proof/frameworks.ts",
      "proof/pm2.ts",
    ],
    esbuildPlugins: [rawText, inlineForEsbuild],
  },
  { ...common, entry: ["proof/simulate.ts"], esbuildPlugins: [rawText, ...virtualModules] },
]);
