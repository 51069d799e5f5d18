import { build } from "esbuild";
import { showsFacts } from "./facts.js";

for (const outdir of ["in-one-file", "in-several-files"]) {
  await build({
    entryPoints: ["anywhere.js"],
    bundle: true,
    splitting: outdir === "in-several-files",
    platform: "node",
    format: "esm",
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    outdir,
  });
  await showsFacts(process.execPath, `${outdir}/anywhere.js`);
}
