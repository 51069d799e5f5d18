import { existsSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import ts from "typescript";
import { type Block, root } from "./pages.js";

// A block is a module in which some names are there already: those of `Names` in test/helpers/docs/common.ts, and of
// `Names` in the file that is called as its page. What a block declares itself is its own.

const fileOf = (name: string) => join(root, "test/helpers/docs", `${name}.ts`);

export function preludesOf(block: Block): string[] {
  return [basename(block.page, extname(block.page)).toLowerCase(), "common"]
    .map(fileOf)
    .filter((file) => existsSync(file));
}

/** The names that `Names` of a prelude holds. */
export function namesIn(prelude: string): string[] {
  const source = ts.createSourceFile(prelude, readFileSync(prelude, "utf8"), ts.ScriptTarget.Latest);
  return source.statements
    .filter(ts.isInterfaceDeclaration)
    .filter(({ name }) => name.text === "Names")
    .flatMap(({ members }) =>
      members.flatMap(({ name }) => (name && ts.isIdentifier(name) ? name.text : [])),
    );
}

/** What the block's own top level declares. */
export function declaredIn(code: string): string[] {
  const source = ts.createSourceFile("block.ts", code, ts.ScriptTarget.Latest, true);
  const names: string[] = [];
  const bind = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) names.push(name.text);
    else for (const each of name.elements) if (ts.isBindingElement(each)) bind(each.name);
  };
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement))
      for (const { name } of statement.declarationList.declarations) bind(name);
    else if ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name)
      names.push(statement.name.text);
  }
  return names;
}

/** What the block imports. */
export function importedIn(code: string): { from: string; names: string[] }[] {
  const source = ts.createSourceFile("block.ts", code, ts.ScriptTarget.Latest, true);
  return source.statements.filter(ts.isImportDeclaration).map(({ moduleSpecifier, importClause }) => {
    const bindings = importClause?.namedBindings;
    return {
      from: (moduleSpecifier as ts.StringLiteral).text,
      names: [
        ...(importClause?.name ? [importClause.name.text] : []),
        ...(bindings && ts.isNamespaceImport(bindings) ? [bindings.name.text] : []),
        ...(bindings && ts.isNamedImports(bindings) ? bindings.elements.map(({ name }) => name.text) : []),
      ],
    };
  });
}
