import { existsSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { npmFlags } from "../shared/packed.js";
import { runCommand } from "../shared/program.js";
import { expressRanges, recipes } from "./recipes.js";

const FRAMEWORKS = resolve("test/frameworks");
/** For a walk that hangs. */
const DEADLINE_MS = 300_000;

/** A recipe with one major of Express and the packed package, in a project of its own. */
export interface Project {
  readonly name: string;
  readonly express: 4 | 5;
  readonly folder: string;
}

/** How a walk ended. */
export interface Walked {
  readonly isRight: boolean;
  /** How many facts it has shown. */
  readonly facts: number;
  /** All that it has printed. */
  readonly output: string;
}

/** Writes the project's files and installs its dependencies. Resolves to why it cannot, if so. */
export async function install(
  { name, express, folder }: Project,
  tarball: string,
): Promise<Walked | undefined> {
  const recipe = recipes[name];
  try {
    for (const part of ["kit", recipe?.basedOn ?? [], name].flat()) {
      const files = join(FRAMEWORKS, part);
      if (existsSync(files)) await cp(files, folder, { recursive: true });
    }
    const dependencies = {
      "express-affiliate": `file:${tarball}`,
      express: expressRanges[express],
      ...recipe?.express[express],
    };
    const manifest = { name: `recipe-${name}`, private: true, type: "module", dependencies };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
    const place = { cwd: folder, env: process.env };
    await runCommand(["npm", "install", ...npmFlags], place);
    if (recipe?.prepare) await runCommand(["sh", "-c", recipe.prepare], place);
    return undefined;
  } catch (error) {
    return { isRight: false, facts: 0, output: `it cannot be installed: ${error}` };
  }
}

/** Walks the recipe on this Node. Never rejects. */
export async function walk(
  { folder }: Project,
  node: string,
  environment: Readonly<Record<string, string>>,
): Promise<Walked> {
  const env = { ...process.env, NO_COLOR: "1", ...environment };
  const place = { cwd: folder, env, withinMs: DEADLINE_MS };
  try {
    const output = await runCommand([node, "--test-reporter=tap", "walk.js"], place);
    const countOf = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
    const facts = countOf("pass");
    return { isRight: facts > 0 && facts === countOf("tests"), facts, output };
  } catch (error) {
    return { isRight: false, facts: 0, output: String(error) };
  }
}
