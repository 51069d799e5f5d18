/**
 * `npm run proof types [-- --tarball FILE]`
 *
 * The types of the packed package, as a user compiles them: an app with `@types/express` 4 and 5,
 * with 5 under each module resolution, and the samples of all guides. Each with TypeScript 5.9, 6 and 7.
 * Exits with 1 if a compiler has something against them.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Block, blocksOf, isCode, pages, recipeOf, root } from "../test/helpers/docs/pages.js";
import { commandLine } from "./shared/options.js";
import { npmFlags, pack } from "./shared/packed.js";
import { scratch } from "./shared/scratch.js";

const COMPILERS = ["5.9", "6", "7"];
const RESOLUTIONS = { 4: ["nodenext"], 5: ["node16", "nodenext", "bundler"] } as const;
const SAMPLES_NEED = [
  "mysql2",
  "pg",
  "cookie-parser",
  "cors",
  "express-session",
  "prom-client",
  "stripe",
  "supertest",
  "vitest@4",
  "@vercel/functions",
];
const THEIR_TYPES = ["pg", "cookie-parser", "cors", "express-session", "supertest"].map(
  (name) => `@types/${name}`,
);

const run = promisify(execFile);
const { options } = commandLine({ tarball: "" });
const folder = scratch();
const tarball = options.tarball ? resolve(options.tarball) : await pack(folder);
let broken = false;

for (const express of [4, 5] as const) {
  const project = await install(`express-${express}`, express);
  for (const file of ["consumer.ts", "exported.ts"])
    cpSync(join(root, ".ci/consumer", file), join(project, file));
  for (const moduleResolution of RESOLUTIONS[express]) {
    const module = moduleResolution === "bundler" ? "esnext" : moduleResolution;
    await compile(project, `@types/express ${express}, ${moduleResolution}`, ["consumer.ts", "exported.ts"], {
      module,
      moduleResolution,
      // To emit declarations, a type needs a name.
      declaration: true,
    });
  }
}
const guides = await install("guides", 5, [...SAMPLES_NEED, ...THEIR_TYPES]);
const samples = pages.flatMap(blocksOf).filter((block) => isCode(block) && !recipeOf(block));
if (samples.length === 0) throw new Error("the pages have no samples");
const files = samples.map((block) => write(join(guides, "samples"), block));
cpSync(join(root, "test/helpers/docs/names.ts"), join(guides, "names.ts"));
cpSync(join(root, "test/helpers/docs/session.ts"), join(guides, "session.ts"));
await compile(guides, `${files.length} samples`, [...files, "names.ts"], {
  module: "esnext",
  moduleResolution: "bundler",
  skipLibCheck: true,
  // They are JavaScript.
  ...{ strictNullChecks: false, exactOptionalPropertyTypes: false, noImplicitAny: false },
});
process.exitCode = broken ? 1 : 0;

/** A project with the package, this Express and all compilers. */
async function install(name: string, express: number, more: readonly string[] = []): Promise<string> {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const packages = [tarball, `express@${express}`, `@types/express@${express}`, "@types/node@20", ...more];
  const compilers = COMPILERS.map((version) => `typescript-${version}@npm:typescript@${version}`);
  await run("npm", ["install", ...npmFlags, ...packages, ...compilers], { cwd: project });
  return project;
}

/** Each page has a folder of its own, as blocks with `file=` are imported by that name. */
function write(into: string, { page, line, info, code }: Block): string {
  const [, name = `${line}.js`] = /\bfile=(\S+)/.exec(info) ?? [];
  const file = join(into, page, name.replace(/\.js$/, ".ts"));
  mkdirSync(join(file, ".."), { recursive: true });
  // Errors have the lines of the page.
  writeFileSync(file, `export {};${"\n".repeat(line - 1)}${code}`);
  return file;
}

async function compile(project: string, what: string, files: readonly string[], more: object): Promise<void> {
  const compilerOptions = {
    target: "es2023",
    lib: ["es2023"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  };
  const config = join(project, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...compilerOptions, ...more }, files }));
  for (const version of COMPILERS) {
    const tsc = join(project, "node_modules", `typescript-${version}`, "bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "--project", config]).catch((error) => error);
    broken ||= stdout !== "";
    console.log(`${stdout === "" ? "ok" : "BROKEN"}: TypeScript ${version}, ${what}\n${stdout}`.trimEnd());
  }
}
