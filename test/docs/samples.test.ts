import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { blocksOf, isCode, pages, root, textOf } from "../helpers/docs/pages.js";

type Sample = ReturnType<typeof sampleOf>;

const blocks = pages
  .flatMap(blocksOf)
  .filter(isCode)
  .map(({ page, line, code }) => sampleOf(`${page}:${line}`, code));
const apps = ["example-app", "test/frameworks"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  )
  .filter((file) => /\.[jt]s$/.test(file) && !file.includes("node_modules"))
  .map((file) => sampleOf(file, textOf(file)));

/** Calls of methods, in the order of their arguments in the text. */
function sampleOf(name: string, code: string) {
  const calls: { readonly method: string; readonly args: readonly ts.Expression[] }[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
      calls.push({ method: node.expression.name.text, args: node.arguments });
  };
  visit(ts.createSourceFile("sample.ts", code, ts.ScriptTarget.Latest, true));
  return { name, calls };
}

/** The order in docs/first-evening.md. */
const ORDER = [
  /^cookieParser\(/,
  /^session\(/,
  /^tracker$/,
  /racker(\(\))?\.onClick\(/,
  /\bstatic\(|^serveStatic\(/,
  /^(express\.)?(json|urlencoded)\(/,
  /^passport\.|^clerkMiddleware\(|\.run\(/,
];

/** What is mounted above something that must stand above it. */
function misplacedIn({ name, calls }: Sample): string[] {
  const mounted = calls
    .filter(({ method }) => method === "use")
    .flatMap(({ args }) => args.map((each) => each.getText()))
    .map((text) => ({ text, place: ORDER.findIndex((each) => each.test(text)) }))
    .filter(({ place }) => place !== -1);
  return mounted.flatMap(({ text, place }, nth) =>
    mounted
      .slice(nth + 1)
      .filter((later) => later.place < place)
      .map((later) => `${name}: ${text} is above ${later.text}`),
  );
}

/** Async handlers that Express 4 would not see rejecting. */
function unforwardedIn({ name, calls }: Sample): string[] {
  return calls
    .filter(({ method, args }) => /^(use|all|get|post|put|patch|delete)$/.test(method) && args.length > 1)
    .flatMap(({ args }) => args.filter(isAsync).map(() => `${name}: ${args[0]?.getText()}`));
}

function isAsync(node: ts.Expression): boolean {
  const isFunction = ts.isArrowFunction(node) || ts.isFunctionExpression(node);
  return isFunction && (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);
}

describe("the samples", () => {
  it("mount in the order of docs/first-evening.md", () => {
    expect([...blocks, ...apps].flatMap(misplacedIn)).toEqual([]);
    const wrong =
      "app.use(express.json());\napp.use(express.static('public')).use(tracker, tracker.onClick());";
    expect(misplacedIn(sampleOf("wrong", wrong))).toEqual([
      "wrong: express.json() is above express.static('public')",
      "wrong: express.json() is above tracker",
      "wrong: express.json() is above tracker.onClick()",
      "wrong: express.static('public') is above tracker",
      "wrong: express.static('public') is above tracker.onClick()",
    ]);
  });

  it("on pages forward what their async handlers reject with, for Express 4", () => {
    expect(blocks.flatMap(unforwardedIn)).toEqual([]);
    const wrong = 'app.get("/", async (req, res) => {}); app.get("/wrapped", forward(async () => {}))';
    expect(unforwardedIn(sampleOf("wrong", wrong))).toEqual(['wrong: "/"']);
  });
});
