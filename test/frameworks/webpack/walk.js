import assert from "node:assert/strict";
import webpack from "webpack";
import { showsFacts } from "./facts.js";

const output = { path: import.meta.dirname, filename: "bundle.cjs" };
const stats = await new Promise((resolve, reject) => {
  webpack({ mode: "production", target: "node20", entry: "./anywhere.js", output }, (error, result) =>
    error ? reject(error) : resolve(result),
  );
});
assert.equal(stats.hasErrors(), false, stats.toString());
// Express' own views are looked for at run time, and webpack says so.
const warnings = stats.toJson().warnings.filter(({ moduleName }) => moduleName.includes("express-affiliate"));
assert.deepEqual(warnings, []);
showsFacts(process.execPath, "bundle.cjs");
