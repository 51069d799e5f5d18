import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { expressRanges, inEveryProject, recipes } from "./recipes.js";

const run = promisify(execFile);
const DEADLINE_MS = 120_000;

/** A recipe with one major of Express, in a project of its own, with the package as `npm pack` packs it. */
export interface Project {
  readonly name: string;
  readonly express: 4 | 5;
  readonly folder: string;
}

export interface Walked {
  readonly passed: number;
  readonly isRight: boolean;
  readonly output: string;
}

const COMPILER_OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2022,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

/** Lays the project out and installs what it needs. */
export async function install(
  { name, express, folder }: Project,
  { frameworks, tarball }: { frameworks: string; tarball: string },
): Promise<void> {
  const recipe = recipes[name];
  await mkdir(folder, { recursive: true });
  for (const part of ["kit", recipe?.basedOn ?? [], name].flat()) {
    await cp(join(frameworks, part), folder, { recursive: true });
  }
  for (const file of (await readdir(folder)).filter((file) => file.endsWith(".ts"))) {
    const { outputText } = ts.transpileModule(await readFile(join(folder, file), "utf8"), {
      compilerOptions: COMPILER_OPTIONS,
    });
    await writeFile(join(folder, file.replace(/\.ts$/, ".js")), outputText);
  }
  const dependencies = {
    "express-affiliate": `file:${tarball}`,
    express: expressRanges[express],
    ...inEveryProject,
    ...recipe?.express[express],
  };
  const manifest = { name: `recipe-${name}`, private: true, type: "module", dependencies };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"], {
    cwd: folder,
  });
  const [command, ...args] = recipe?.prepare ?? [];
  if (command) await run(command, args, { cwd: folder });
}

/** Walks the recipe on this Node. Never rejects. */
export async function walk(
  { folder }: Project,
  node: string,
  environment: Record<string, string>,
): Promise<Walked> {
  const child = spawn(node, ["--test-reporter=tap", "walk.js"], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const deadline = setTimeout(() => {
    output += `\nit did not end within ${DEADLINE_MS / 1_000} s\n`;
    child.kill("SIGKILL");
  }, DEADLINE_MS);
  const [code] = await once(child, "close");
  clearTimeout(deadline);
  const countOf = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
  const passed = countOf("pass");
  return { passed, isRight: code === 0 && passed > 0 && passed === countOf("tests"), output };
}
