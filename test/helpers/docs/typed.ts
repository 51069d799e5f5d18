import { join } from "node:path";
import ts from "typescript";
import tsconfig from "../../../tsconfig.json" with { type: "json" };
import { root } from "./pages.js";

// All programs read the same libraries.
const parsed = new Map<string, ts.SourceFile | undefined>();

/**
 * What TypeScript has against a file's content as a value of a type, such as `import("kubernetes-types/apps/v1").Deployment`.
 * Unknown names are mistakes. Methods count for nothing, and
 * members of an enum are written as their text.
 */
export function problemsAsType(value: unknown, type: string): string[] {
  const file = join(root, "typed-value.ts");
  const text = `
    type Plain<T> = T extends string ? \`\${T}\` : T extends (infer Item)[] ? Plain<Item>[]
      : T extends object ? { [Name in keyof T as T[Name] extends () => void ? never : Name]: Plain<T[Name]> } : T;
    export const value: Plain<${type}> = ${JSON.stringify(value, null, 1)};`;
  const { options } = ts.convertCompilerOptionsFromJson(
    { ...tsconfig.compilerOptions, exactOptionalPropertyTypes: false },
    root,
  );
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, target) => {
    if (name === file) return ts.createSourceFile(file, text, target);
    if (!parsed.has(name)) parsed.set(name, getSourceFile(name, target));
    return parsed.get(name);
  };
  const program = ts.createProgram([file], options, host);
  return [...program.getSyntacticDiagnostics(), ...program.getSemanticDiagnostics()].map(
    ({ messageText, start = 0 }) => {
      const line = text.slice(text.lastIndexOf("\n", start) + 1, text.indexOf("\n", start)).trim();
      return `${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    },
  );
}
