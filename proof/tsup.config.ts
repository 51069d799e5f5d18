import { defineConfig } from "tsup";
import { inlineForEsbuild } from "../inline-plugin.js";
import { rawText } from "../tsup.config.js";

/** The proofs, with the package's source in them. */
export default defineConfig({
  entry: [
    "proof/faults.ts",
    "proof/kill.ts",
    "proof/fleet.ts",
    "proof/churn.ts",
    "proof/fuzz.ts",
    "proof/pm2.ts",
  ],
  outDir: "node_modules/.cache/proof",
  external: ["express-session"],
  format: "esm",
  target: "node20",
  shims: true,
  silent: true,
  esbuildPlugins: [rawText, inlineForEsbuild],
});
