import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const EQUALITY = /^(toMatchObject|toEqual|toStrictEqual|toContainEqual|toHaveBeenCalledWith|toHaveProperty)$/;

function nodesOf(source: string): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("test.ts", source, ts.ScriptTarget.Latest, true));
  return nodes;
}

const isBareExpect = (node: ts.Node) =>
  ts.isExpressionStatement(node) &&
  ts.isCallExpression(node.expression) &&
  node.expression.expression.getText() === "expect";

/** A regular expression has no keys of its own: there, it matches every value. */
function isMatchedByAll(node: ts.Node): boolean {
  if (!ts.isRegularExpressionLiteral(node)) return false;
  let at: ts.Node = node.parent;
  while (at && !ts.isCallExpression(at)) at = at.parent;
  return at && ts.isPropertyAccessExpression(at.expression) && EQUALITY.test(at.expression.name.text);
}

/**
 * The assertions of a test file that hold whatever happens. Others are found elsewhere: one whose
 * matcher is not called by Biome's `noUnusedExpressions`, one that is not awaited by Vitest.
 */
function emptyAssertionsOf(source: string): string[] {
  return nodesOf(source)
    .filter((node) => isBareExpect(node) || isMatchedByAll(node))
    .map((node) => node.getText());
}

describe("an assertion", () => {
  it.each(["expect(receipt).toMatchObject({ outcome: /rejected|skipped/ });", "expect(value);"])(
    "that holds whatever happens is found: %s",
    (statement) => {
      expect(emptyAssertionsOf(statement)).toHaveLength(1);
    },
  );

  const folder = resolve(import.meta.dirname);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  it.each(files.filter((name) => name.endsWith(".ts")))("in %s can fail", (name) => {
    expect(emptyAssertionsOf(readFileSync(join(folder, name), "utf8"))).toEqual([]);
  });
});
