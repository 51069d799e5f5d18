import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { npmFlags } from "../../shared/packed.js";
import { runCommand } from "../../shared/program.js";
import { scratch } from "../../shared/scratch.js";

/** Installs packages of npm in a folder of their own. Resolves to what imports them from there. */
export async function installed(
  packages: Readonly<Record<string, string>>,
): Promise<(name: string) => Promise<Record<string, unknown>>> {
  const folder = scratch();
  const entry = join(folder, "entry.mjs");
  writeFileSync(entry, "export const load = (name) => import(name);\n");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const specs = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  await runCommand(["npm", "install", "--save-exact", ...npmFlags, ...specs], {
    cwd: folder,
    env: process.env,
  });
  return (await import(pathToFileURL(entry).href)).load;
}
