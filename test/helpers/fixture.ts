import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { build, type Plugin } from "esbuild";
import { afterAll, beforeAll } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

export type Run = ReturnType<ReturnType<typeof fixture>>;

/**
 * A program of test/fixtures, to run as a process of its own: built before the tests of a file and
 * removed after them. Its arguments arrive as JSON in `process.argv[2]`; it prints one JSON value a
 * line.
 */
export function fixture(name: string, plugins: Plugin[] = []) {
  let directory = "";
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    // Within the package, so that its dependencies are found.
    directory = mkdtempSync(join(ROOT, "node_modules/.fixture-"));
    await build({
      entryPoints: [join(ROOT, "test/fixtures", `${name}.ts`)],
      outfile: join(directory, `${name}.mjs`),
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
      // With what it imports: each process loads one file, and not hundreds. The CommonJS among it
      // needs `require`.
      banner: {
        js: 'import { createRequire as requireIn } from "node:module"; const require = requireIn(import.meta.url);',
      },
      plugins,
    });
  });
  // Not at the end of each test: some files run theirs side by side.
  afterAll(() => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  });

  return (args: readonly unknown[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [join(directory, `${name}.mjs`), JSON.stringify(args)], {
      env: { PATH: process.env.PATH ?? "", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
    const said: any[] = [];
    let read = 0;
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      // The rest is what a tracker there logs.
      if (!line.startsWith("express-affiliate")) said.push(JSON.parse(line));
    });
    const over = Promise.all([once(child, "close"), text(child.stderr)]).then(([[code, signal], stderr]) => ({
      code,
      signal,
      stderr,
    }));
    return {
      child,
      /** What it wrote to stdout: each line is JSON. */
      said,
      /** Resolves to the next line that it says. */
      async next() {
        while (said.length <= read) {
          const ended = over.then(({ stderr }) => {
            throw new Error(`it ended without another word: ${stderr}`);
          });
          await Promise.race([once(lines, "line"), ended]);
        }
        return said[read++];
      },
      /** Resolves when it is over. */
      over,
    };
  };
}
