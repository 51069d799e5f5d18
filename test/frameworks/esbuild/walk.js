import { build } from "esbuild";
import { showsFacts } from "./facts.js";

await build({
  entryPoints: ["anywhere.js"],
  bundle: true,
  platform: "node",
  format: "cjs",
  outfile: "bundle.cjs",
});
await showsFacts(process.execPath, "bundle.cjs");
