import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The package as `npm pack` packs it, built anew, as a file in the folder. */
export async function pack(folder: string): Promise<string> {
  await run("npm", ["pack", "--pack-destination", folder]);
  const [tarball] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  return join(folder, tarball as string);
}

/** The program of this major of Node: the one that runs here, or one that is installed for it. */
export async function nodeOf(major: number): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  return join((await run(".ci/node", [String(major)])).stdout.trim(), "node");
}

/** How the proofs have npm install. */
export const npmFlags = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
