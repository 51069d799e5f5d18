import { join } from "node:path";
import ts from "typescript";
import { type Block, root } from "./pages.js";

/**
 * What TypeScript has against these blocks, as `docs/page.md:12: …`. A `ts` block is checked as
 * strictly as src is; a `js` block as the JavaScript that it is, without asking what may be
 * undefined. A block with `file=shop.js` in its info string is what the page's other blocks import
 * as "./shop.js".
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

/** `req.affiliate`, and the names that blocks need not declare. */
const GIVEN = ["src/request/visitor.ts", "test/helpers/docs/names.ts"];

/** Each page has a folder of its own, which is nowhere but here. */
function fileOf({ page, line, info }: Block): string {
  const [, name = `${line}.js`] = /\bfile=(\S+)/.exec(info) ?? [];
  return join(root, `${page}.blocks`, name.replace(/\.js$/, ".ts"));
}

// All programs read the same libraries.
const parsed = new Map<string, ts.SourceFile | undefined>();

function check(blocks: readonly Block[], leniency: ts.CompilerOptions): string[] {
  if (blocks.length === 0) return [];
  const { options: ours } = ts.parseJsonConfigFileContent(
    { ...ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile).config, files: [], include: [] },
    ts.sys,
    root,
  );
  const options = { ...ours, ...leniency, noUnusedLocals: false, noUnusedParameters: false };
  const modules = new Map(blocks.map((block) => [fileOf(block), block]));
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, directoryExists } = host;
  host.fileExists = (file) => modules.has(file) || fileExists(file);
  host.directoryExists = (folder) => folder.endsWith(".blocks") || directoryExists?.(folder) === true;
  host.getSourceFile = (file, target) => {
    const block = modules.get(file);
    if (block) return ts.createSourceFile(file, `export {}; ${block.code}`, target);
    if (!parsed.has(file)) parsed.set(file, getSourceFile(file, target));
    return parsed.get(file);
  };
  const program = ts.createProgram(
    [...modules.keys(), ...GIVEN.map((file) => join(root, file))],
    options,
    host,
  );
  return [...modules].flatMap(([file, block]) => {
    const source = program.getSourceFile(file) as ts.SourceFile;
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }) => {
        const { line } = ts.getLineAndCharacterOfPosition(source, start);
        return `${block.page}:${block.line + line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
      },
    );
  });
}
