import { join } from "node:path";
import type { Request, RequestHandler, Response } from "express";
import ts from "typescript";
import { afterAll, expect, type RunnerTask } from "vitest";
import tsconfig from "../../../tsconfig.json" with { type: "json" };
import { type Block, blocksOf, isCode, recipeOf, root } from "./pages.js";

/** The package by its name is its source. */
function fileOrPackage(name: string): string {
  const [file] = (tsconfig.compilerOptions.paths as Record<string, string[]>)[name] ?? [];
  return file === undefined ? name : join(root, file);
}

/** What the block's own top level declares. */
function declaredIn(code: string): string[] {
  const source = ts.createSourceFile("block.ts", code, ts.ScriptTarget.Latest, true);
  const names: string[] = [];
  const bind = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) names.push(name.text);
    else for (const each of name.elements) if (ts.isBindingElement(each)) bind(each.name);
  };
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement))
      for (const { name } of statement.declarationList.declarations) bind(name);
    else if (ts.isFunctionDeclaration(statement) && statement.name) names.push(statement.name.text);
  }
  return names;
}

const AsyncFunction = (async () => {}).constructor as FunctionConstructor;

/** As docs/frameworks.md has it. */
const forward =
  (handler: (req: Request, res: Response) => Promise<unknown>): RequestHandler =>
  (req, res, next) =>
    void handler(req, res).catch(next);

interface HowToRun {
  /** Which of the blocks under the heading. Default 0. */
  readonly nth?: number;
  /** Modules to import instead of those that have these names. */
  readonly modules?: Readonly<Record<string, object>>;
}

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
type Declared = any;

/** Runs a block where these names are there already; resolves with what it declares. */
async function runBlock(block: Block, names: object = {}, how: HowToRun = {}): Promise<Declared> {
  const { code, page, line } = block;
  const modules: Record<string, object> = {};
  for (const { fileName: from } of ts.preProcessFile(code).importedFiles) {
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
  const given = { forward, ...names };
  const run = new AsyncFunction(
    "require",
    "exports",
    ...Object.keys(given),
    `${body}\n//# sourceURL=${page}:${line}`,
  );
  return run((from: string) => modules[from], {}, ...Object.values(given));
}

/** A page whose blocks a file of tests runs: all of them, or the file fails. */
export function pageToRun(page: string) {
  const blocks = blocksOf(page).filter((block) => isCode(block) && !recipeOf(block));
  const ran = new Set<Block>();

  function take(heading: string, nth = 0): Block {
    const block = blocks.filter((each) => each.heading === heading)[nth];
    if (!block) throw new Error(`${page} has no such block of code under "${heading}"`);
    ran.add(block);
    return block;
  }

  // Not if a test was left out or failed: it may run the others.
  // biome-ignore lint/correctness/noEmptyPattern: Vitest demands a pattern as the first parameter.
  afterAll(({}, suite) => {
    if (!suite.tasks.every(ranWhole)) return;
    const left = blocks.filter((block) => !ran.has(block));
    expect(left.map(({ line, heading }) => `${page}:${line} (${heading}) is not run`)).toEqual([]);
  });

  return {
    /** Runs the block under that heading, or one of them; resolves with what it declares. */
    run: (heading: string, names: object = {}, how: HowToRun = {}) =>
      runBlock(take(heading, how.nth), names, how),
    /** The code of the block under that heading, to be run in a process of its own. */
    codeToRun: (heading: string) => take(heading).code,
  };
}

function ranWhole(task: RunnerTask): boolean {
  return task.type === "suite" ? task.tasks.every(ranWhole) : task.result?.state === "pass";
}
