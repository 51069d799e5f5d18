/**
 * `npm run proof NAME -- options`
 *
 * Runs proof/NAME.ts, which `npm run proof` has built before. Without a NAME that there is, says
 * which there are, and exits with 1.
 */
import { readdirSync } from "node:fs";

const names = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".config.ts"))
  .map((file) => file.slice(0, -".ts".length));
const [name] = process.argv.splice(2, 1);

if (names.includes(name)) await import(`../node_modules/.cache/proof/${name}.js`);
else {
  console.error(`npm run proof NAME -- options; NAME is one of ${names.join(", ")}`);
  process.exitCode = 1;
}
