import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * Bytes on disk of these packages and of all that they depend on. Of this package, what it
 * publishes.
 */
export function sizeOf(packages) {
  const folders = new Set();
  let own = 0;
  for (const name of packages) {
    if (name === "express-affiliate") {
      own = published();
      for (const each of dependenciesOf(resolve("."))) collect(each, resolve("."), folders);
    } else collect(name, resolve("bench/others"), folders);
  }
  return own + [...folders].reduce((sum, folder) => sum + bytesIn(folder), 0);
}

function published() {
  const said = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { stdio: "pipe" });
  return JSON.parse(String(said))[0].unpackedSize;
}

const dependenciesOf = (folder) =>
  Object.keys(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).dependencies ?? {});

function collect(name, from, folders) {
  let at = from;
  while (!existsSync(join(at, "node_modules", name))) {
    if (at === dirname(at)) throw new Error(`${name} is not installed`);
    at = dirname(at);
  }
  const folder = join(at, "node_modules", name);
  if (folders.has(folder)) return;
  folders.add(folder);
  for (const each of dependenciesOf(folder)) collect(each, folder, folders);
}

/** Without the `node_modules` of its own: what is in there is counted where it is found. */
function bytesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !relative(folder, entry.parentPath).includes("node_modules"))
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
