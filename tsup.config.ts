import { defineConfig, type Options } from "tsup";

const library = { index: "src/index.ts", postgres: "src/postgres.ts", sandbox: "src/sandbox/index.ts" };
const common = { target: "node20", splitting: true, shims: true } satisfies Options;

export default defineConfig([
  { ...common, entry: { ...library, cli: "src/cli.ts" }, format: "esm", dts: { entry: library } },
  { ...common, entry: library, format: "cjs", dts: true },
]);
