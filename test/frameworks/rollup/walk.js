import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { rollup } from "rollup";
import { showsFacts } from "./facts.js";

const { write } = await rollup({
  input: "anywhere.js",
  plugins: [nodeResolve({ preferBuiltins: true }), commonjs({ ignore: ["node:sqlite"] }), json()],
  external: [/^node:/],
  onwarn() {},
});
await write({ dir: "bundle", entryFileNames: "bundle.mjs", chunkFileNames: "[name]-[hash].mjs" });
showsFacts(process.execPath, "bundle/bundle.mjs");
