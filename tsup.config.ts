import { defineConfig } from "tsup";

export default defineConfig([
  {
    entry: { index: "src/index.ts", sandbox: "src/sandbox/index.ts" },
    format: ["esm", "cjs"],
    dts: true,
    shims: true,
    clean: true,
    splitting: true,
    target: "node20",
  },
  { entry: { cli: "src/cli.ts" }, format: ["esm"], clean: false, target: "node20" },
]);
