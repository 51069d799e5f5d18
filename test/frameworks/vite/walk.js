import { build } from "vite";
import { showsFacts } from "./facts.js";

await build({
  logLevel: "error",
  build: {
    ssr: "anywhere.js",
    outDir: "bundle",
    rollupOptions: { output: { entryFileNames: "bundle.mjs" } },
  },
  ssr: { noExternal: true },
});
showsFacts(process.execPath, "bundle/bundle.mjs");
