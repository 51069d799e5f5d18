import { build } from "esbuild";
import { showsFacts } from "./facts.js";

await build({
  entryPoints: ["anywhere.js"],
  bundle: true,
  platform: "node",
  format: "esm",
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  outfile: "bundle.mjs",
});
await showsFacts(process.execPath, "bundle.mjs");
