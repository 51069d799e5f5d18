import { join, relative } from "node:path";
import ts from "typescript";
import { declaredIn, importedIn, namesIn, preludesOf } from "./names.js";
import { type Block, root } from "./pages.js";

/**
 * What TypeScript has against these blocks, as `docs/page.md:12: …`. A `ts` block is checked as strictly as src is; a `js`
 * block as the JavaScript that it is, without asking what may be undefined.
 */
export function problemsIn(blocks: readonly Block[]): string[] {
  const isStrict = ({ info }: Block) => info.startsWith("t");
  return [
    ...check(blocks.filter(isStrict), {}),
    ...check(
      blocks.filter((block) => !isStrict(block)),
      { strictNullChecks: false, exactOptionalPropertyTypes: false, noImplicitAny: false },
    ),
  ];
}

function check(blocks: readonly Block[], leniency: ts.CompilerOptions): string[] {
  if (blocks.length === 0) return [];
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  const modules = new Map(blocks.map((block) => [join(root, `${block.page}.${block.line}.ts`), block]));
  const host = ts.createCompilerHost({ ...options, ...leniency });
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => modules.has(file) || fileExists(file);
  host.getSourceFile = (file, target) => {
    const block = modules.get(file);
    return block ? ts.createSourceFile(file, moduleOf(block), target) : getSourceFile(file, target);
  };
  const program = ts.createProgram(
    [...modules.keys(), join(root, "src/attribution.ts")],
    { ...options, ...leniency, noUnusedLocals: false, noUnusedParameters: false },
    host,
  );
  return [...modules].flatMap(([file, block]) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }) => {
        const { line } = ts.getLineAndCharacterOfPosition(source as ts.SourceFile, start);
        return `${block.page}:${block.line + line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
      },
    );
  });
}

/** The block as a module of its own. The names that are there already stand on its first line, so that lines stay theirs. */
function moduleOf(block: Block): string {
  const own = new Set([...declaredIn(block.code), ...importedIn(block.code).flatMap(({ names }) => names)]);
  const given: string[] = [];
  for (const prelude of preludesOf(block)) {
    const from = `./${relative(join(root, block.page, ".."), prelude).replace(/\.ts$/, ".js")}`;
    for (const name of namesIn(prelude)) {
      if (own.has(name)) continue;
      own.add(name);
      given.push(`declare const ${name}: import("${from}").Names["${name}"];`);
    }
  }
  return `export {}; ${given.join(" ")} ${block.code}`;
}
