import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import type { TestProject } from "vitest/node";

// If it is imported, Node parses all of it twice before it runs.
const ts: typeof import("typescript") = createRequire(import.meta.url)("typescript");

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * What a test imports that starts a server, a process or a build, or that runs what a page shows.
 */
const SLOW_MODULES =
  /^(node:(child_process|http|http2|https|net|tls)|express|express4|supertest|pg|esbuild|tsup|playwright-core|express-affiliate\/(sandbox|testing))$/;
const SLOW_FILES = /^(src\/cli\/main\.ts|test\/(helpers\/)?docs\/|example-app\/)/;

const isSlow = new Map<string, boolean>();

/** Whether a file of the tests or proofs, or one that it imports, starts something. */
function startsSomething(file: string): boolean {
  const known = isSlow.get(file);
  if (known !== undefined) return known;
  isSlow.set(file, false);
  const { importedFiles } = ts.preProcessFile(readFileSync(join(ROOT, file), "utf8"));
  const answer = importedFiles.some(({ fileName: name }) => {
    if (!name.startsWith(".")) return SLOW_MODULES.test(name);
    const imported = relative(ROOT, resolve(ROOT, dirname(file), name)).replace(/\.js$/, ".ts");
    return SLOW_FILES.test(imported) || (/^(test|proof)\//.test(imported) && startsSomething(imported));
  });
  isSlow.set(file, answer);
  return answer;
}

/** Whether a run is of these tests alone. */
export const isFast = ({ vitest }: TestProject): boolean =>
  vitest.projects.every(({ name }) => name === "fast");

/** The test files that start no server and no process. */
export function fastTests(): string[] {
  return readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => join("test", name))
    .filter(
      (name) => /(?<!\.slow)\.test\.ts$/.test(name) && !SLOW_FILES.test(name) && !startsSomething(name),
    );
}
