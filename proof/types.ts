/**
 * `npm run proof types [-- --tarball FILE]`
 *
 * The types of the packed package, as a user compiles them: an app with `@types/express` 4 and 5,
 * with 5 under each module resolution, and each with TypeScript 5.9, 6 and 7. (The samples of the
 * guides are checked by test/docs/code.slow.test.ts.) Exits with 1 if a compiler has something
 * against them.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { root } from "../test/helpers/docs/pages.js";
import { commandLine } from "./shared/options.js";
import { npmFlags, pack } from "./shared/packed.js";
import { scratch } from "./shared/scratch.js";

const FILES = ["consumer.ts", "exported.ts"];
const COMPILERS = ["5.9", "6", "7"];
const RESOLUTIONS = { 4: ["nodenext"], 5: ["node16", "nodenext", "bundler"] } as const;
const run = promisify(execFile);
const { options } = commandLine({ tarball: "" });
const folder = scratch();
const tarball = options.tarball ? resolve(options.tarball) : await pack(folder);
let broken = false;

for (const express of [4, 5] as const) {
  const project = await install(express);
  for (const file of FILES) cpSync(join(root, ".ci/consumer", file), join(project, file));
  for (const moduleResolution of RESOLUTIONS[express]) {
    await compile(project, `@types/express ${express}, ${moduleResolution}`, moduleResolution);
  }
}
process.exitCode = broken ? 1 : 0;

/** A project with the package, this Express and all compilers. */
async function install(express: number): Promise<string> {
  const project = join(folder, `express-${express}`);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const packages = [tarball, `express@${express}`, `@types/express@${express}`, "@types/node@20"];
  const compilers = COMPILERS.map((version) => `typescript-${version}@npm:typescript@${version}`);
  await run("npm", ["install", ...npmFlags, ...packages, ...compilers], { cwd: project });
  return project;
}

async function compile(project: string, what: string, moduleResolution: string): Promise<void> {
  const compilerOptions = {
    target: "es2023",
    lib: ["es2023"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: moduleResolution === "bundler" ? "esnext" : moduleResolution,
    moduleResolution,
    // To emit declarations, a type needs a name.
    declaration: true,
  };
  const config = join(project, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions, files: FILES }));
  for (const version of COMPILERS) {
    const tsc = join(project, "node_modules", `typescript-${version}`, "bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "--project", config]).catch((error) => error);
    broken ||= stdout !== "";
    console.log(`${stdout === "" ? "ok" : "BROKEN"}: TypeScript ${version}, ${what}\n${stdout}`.trimEnd());
  }
}
