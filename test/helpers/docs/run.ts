import ts from "typescript";
import * as affiliate from "../../../src/index.js";
import * as sandbox from "../../../src/sandbox/index.js";
import { declaredIn, importedIn } from "./names.js";
import { type Block, blocksOf, isCode, isUnchecked } from "./pages.js";

// The package by its name is its source.
const ours: Record<string, object> = {
  "express-affiliate": affiliate,
  "express-affiliate/sandbox": sandbox,
};

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
    modules[from] = { ...(how.modules?.[from] ?? ours[from] ?? (await import(from))), __esModule: true };
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
  const blocks = blocksOf(page).filter((block) => isCode(block) && !isUnchecked(block));
  const ran = new Set<Block>();
  return {
    /** Runs the block under that heading, or one of them; resolves with what it declares. */
    run(heading: string, names: object = {}, how: HowToRun = {}) {
      const block = blocks.filter((each) => each.heading === heading)[how.nth ?? 0];
      if (!block) throw new Error(`${page} has no such block of code under "${heading}"`);
      ran.add(block);
      return runBlock(block, names, how);
    },
    /** The blocks that no test has run so far. */
    get notRun(): string[] {
      return blocks
        .filter((block) => !ran.has(block))
        .map(({ line, heading }) => `${page}:${line} (${heading})`);
    },
  };
}
