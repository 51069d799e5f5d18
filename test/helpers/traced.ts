import { readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import type { Plugin } from "esbuild";
import ts from "typescript";

const ROOT = resolve(import.meta.dirname, "../..");

/** A function of the source: its file, from the package's folder on, and its name. */
export interface Hop {
  readonly file: string;
  readonly name: string;
}

/** Adds to each hop a line that writes its file and name to the file that the environment calls `HOPS`, in whichever thread it runs. */
export function tracing(hops: readonly Hop[]): Plugin {
  return {
    name: "tracing",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const file = relative(ROOT, path);
        const names = hops.filter((hop) => hop.file === file).map(({ name }) => name);
        const source = await readFile(path, "utf8");
        return { contents: traced(source, file, names), loader: "ts" };
      });
    },
  };
}

/** The functions of a source that bear a name. */
export function functionsOf(source: string, name: string): ts.FunctionLikeDeclaration[] {
  const found: ts.FunctionLikeDeclaration[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body && nameOf(node) === name) {
      found.push(node as ts.FunctionLikeDeclaration);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

function nameOf(node: ts.Node): string | undefined {
  const named = ts.isArrowFunction(node) ? node.parent : node;
  return (named as { name?: ts.Node }).name?.getText();
}

function traced(source: string, file: string, names: readonly string[]): string {
  const insertions = names.flatMap((name) => {
    const hop = JSON.stringify(`${file} ${name}\n`);
    const call = `process.getBuiltinModule("node:fs").appendFileSync(process.env.HOPS, ${hop})`;
    return functionsOf(source, name).flatMap(({ body }) => {
      const [start, end] = [body?.getStart() ?? 0, body?.getEnd() ?? 0];
      if (body && ts.isBlock(body)) return [{ at: start + 1, text: `${call};` }];
      return [
        { at: start, text: `(${call}, ` },
        { at: end, text: ")" },
      ];
    });
  });
  return insertions
    .sort((one, other) => other.at - one.at)
    .reduce((text, { at, text: more }) => text.slice(0, at) + more + text.slice(at), source);
}
