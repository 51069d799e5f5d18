import { join } from "node:path";
import ts from "typescript";
import tsconfig from "../../../tsconfig.json" with { type: "json" };
import { declaredIn, importedIn } from "./names.js";
import { type Block, blocksOf, isCode, isUnchecked, recipesOf, root } from "./pages.js";

/** The package by its name is its source. */
function fileOrPackage(name: string): string {
  const [file] = (tsconfig.compilerOptions.paths as Record<string, string[]>)[name] ?? [];
  return file === undefined ? name : join(root, file);
}

const AsyncFunction = (async () => {}).constructor as FunctionConstructor;

interface HowToRun {
  /** Which of the blocks under the heading. Default 0. */
  readonly nth?: number;
  /** Modules to import instead of those that have these names. */
  readonly modules?: Readonly<Record<string, object>>;
}

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
type Declared = any;

/** Runs a block where these names are there already; resolves with what it declares. */
export async function runBlock(block: Block, names: object = {}, how: HowToRun = {}): Promise<Declared> {
  const { code, page, line } = block;
  const modules: Record<string, object> = {};
  for (const { from } of importedIn(code)) {
    modules[from] = { ...(how.modules?.[from] ?? (await import(fileOrPackage(from)))), __esModule: true };
  }
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2023,
      esModuleInterop: true,
    },
  });
  // In a block of its own, where it may declare anew what is there already.
  const body = `"use strict"; { ${outputText.replace('"use strict";', "")}\n return { ${declaredIn(code)} }; }`;
  const run = new AsyncFunction(
    "require",
    "exports",
    ...Object.keys(names),
    `${body}\n//# sourceURL=${page}:${line}`,
  );
  return run((from: string) => modules[from], {}, ...Object.values(names));
}

/** A page whose blocks a file of tests runs. */
export function pageToRun(page: string) {
  const blocks = blocksOf(page)
    .filter((block) => isCode(block) && !isUnchecked(block))
    .filter((block) => recipesOf(block).length === 0);
  const ran = new Set<Block>();

  function take(heading: string, nth = 0): Block {
    const block = blocks.filter((each) => each.heading === heading)[nth];
    if (!block) throw new Error(`${page} has no such block of code under "${heading}"`);
    ran.add(block);
    return block;
  }

  return {
    /** Runs the block under that heading, or one of them; resolves with what it declares. */
    run: (heading: string, names: object = {}, how: HowToRun = {}) =>
      runBlock(take(heading, how.nth), names, how),
    /** The code of the block under that heading, to be run in a process of its own. */
    codeToRun: (heading: string) => take(heading).code,
    /** The blocks that no test has run so far. */
    get notRun(): string[] {
      return blocks
        .filter((block) => !ran.has(block))
        .map(({ line, heading }) => `${page}:${line} (${heading})`);
    },
  };
}
