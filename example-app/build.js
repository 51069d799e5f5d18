// @ts-check
// `npm run example` builds the package first: its code alone, because types take most of a whole build.
import { spawn } from "node:child_process";

const started = Date.now();
process.stdout.write("Building the package ");
const building = spawn("npx", ["tsup", "--no-dts", "--silent"], { shell: true });
const dots = setInterval(() => process.stdout.write("."), 1_000);

/** @type {Buffer[]} */
const output = [];
for (const stream of [building.stdout, building.stderr]) stream.on("data", (chunk) => output.push(chunk));

building.on("close", (code) => {
  clearInterval(dots);
  process.exitCode = code ?? 1;
  if (code === 0) console.log(` done in ${Math.round((Date.now() - started) / 1_000)} s.`);
  else console.error(` failed.\n${Buffer.concat(output)}`);
});
