import { defineConfig, type Options } from "tsup";
import { inlineForEsbuild } from "./inline-plugin.js";

const library = {
  index: "src/index.ts",
  disk: "src/disk.ts",
  sandbox: "src/sandbox/index.ts",
  testing: "src/testing/index.ts",
};
const common = {
  target: "node20",
  splitting: true,
  shims: true,
  esbuildPlugins: [inlineForEsbuild],
} satisfies Options;

export default defineConfig([
  { ...common, entry: { ...library, cli: "src/cli.ts" }, format: "esm", dts: { entry: library } },
  { ...common, entry: library, format: "cjs", dts: true },
]);
