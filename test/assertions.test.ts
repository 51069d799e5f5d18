import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const EQUALITY = /^(toMatchObject|toEqual|toStrictEqual|toContainEqual|toHaveBeenCalledWith|toHaveProperty)$/;
const NEVER_AWAITED = /^expect(\.poll)?\(.*\)\.(rejects|resolves|to[A-Z])/s;

function nodesOf(source: string): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("test.ts", source, ts.ScriptTarget.Latest, true));
  return nodes;
}

/** The assertions of a test file that hold whatever happens. */
function emptyAssertionsOf(source: string): string[] {
  return nodesOf(source).flatMap((node) => {
    if (ts.isExpressionStatement(node)) {
      const text = node.getText();
      const isBare =
        ts.isCallExpression(node.expression) && node.expression.expression.getText() === "expect";
      const isUncalled = ts.isPropertyAccessExpression(node.expression) && text.startsWith("expect(");
      const isForgotten = NEVER_AWAITED.test(text) && /^expect\.poll|\.(rejects|resolves)\./.test(text);
      if (isBare || isUncalled || isForgotten) return [text];
    }
    // An object without keys of its own, as a regular expression is, matches every value there.
    if (ts.isRegularExpressionLiteral(node)) {
      for (let at = node.parent; at; at = at.parent) {
        if (!ts.isCallExpression(at)) continue;
        const { expression } = at;
        return ts.isPropertyAccessExpression(expression) && EQUALITY.test(expression.name.text)
          ? [node.text]
          : [];
      }
    }
    return [];
  });
}

describe("an assertion", () => {
  it.each([
    "expect(receipt).toMatchObject({ outcome: /rejected|skipped/ });",
    "expect(value);",
    "expect(value).toBe;",
    "expect(promise).rejects.toThrow();",
    "expect.poll(() => value).toBe(1);",
  ])("that holds whatever happens is found: %s", (statement) => {
    expect(emptyAssertionsOf(statement)).toHaveLength(1);
  });

  const folder = resolve(import.meta.dirname);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  it.each(files.filter((name) => name.endsWith(".ts")))("in %s can fail", (name) => {
    expect(emptyAssertionsOf(readFileSync(join(folder, name), "utf8"))).toEqual([]);
  });
});
