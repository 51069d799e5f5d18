import { build } from "esbuild";
import { showsFacts } from "./facts.js";

const requires =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";
const esm = { format: "esm", banner: { js: requires } };
const bundles = {
  "bundle.cjs": { format: "cjs", outfile: "bundle.cjs" },
  "in-one-file/anywhere.js": { ...esm, outdir: "in-one-file" },
  "in-several-files/anywhere.js": { ...esm, outdir: "in-several-files", splitting: true },
};

for (const [bundle, options] of Object.entries(bundles)) {
  await build({ entryPoints: ["anywhere.js"], bundle: true, platform: "node", ...options });
  showsFacts(process.execPath, bundle);
}
