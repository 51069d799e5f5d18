import { join } from "node:path";
import express, { type Request, type RequestHandler, type Response } from "express";
import type { Affiliate, AffiliateOptions } from "express-affiliate";
import request from "supertest";
import ts from "typescript";
import { afterAll, expect, type RunnerTask } from "vitest";
import tsconfig from "../../../tsconfig.json" with { type: "json" };
import { startSandbox } from "../../sandbox/helpers.js";
import { order } from "../conversions.js";
import { FIREFOX } from "../landing.js";
import { startService } from "../service.js";
import { startTracker } from "../tracker.js";
import { type Block, blocksOf, isCode, recipeOf, root } from "./pages.js";

export { closing } from "../tracker.js";

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

/** A shop whose routes a page's blocks add, a tracking service, and the tracker between them. */
export async function startShop({
  before = [],
  ...options
}: Partial<AffiliateOptions> & { before?: RequestHandler[] } = {}) {
  const sandbox = await startSandbox();
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const service = { baseUrl, clientId, apiKey };
  const tracker = startTracker({ ...service, ...options });
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(tracker);
  return { sandbox, service, tracker, app, env: envFor(sandbox) };
}

/** A shop beside a service that refuses every second payment. */
export async function startRefusing() {
  let payments = 0;
  const { url: baseUrl } = await startService(({ path }, res) => {
    if (path.endsWith("/payment") && ++payments === 2) res.statusCode = 422;
    return res.statusCode === 422
      ? { error: "Unprocessable", message: "no such customer: ada@shop.example", status: 422 }
      : { success: true };
  });
  return startShop({ baseUrl });
}

/**
 * Reports a payment that is delivered, one that `startRefusing()` refuses, one that is dropped, a
 * click that is delivered, and a registration that is skipped.
 */
export async function reportAll(tracker: Affiliate): Promise<void> {
  await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "c1" });
  await tracker.trackPayment(order, { sessionId: "s1" });
  await tracker.trackPayment({ ...order, paymentId: "refused" }, { sessionId: "s2" });
  await tracker.trackPayment({ ...order, leadValue: -1 }, { sessionId: "s1" });
  await tracker.trackRegistration({ email: "ada@shop.example" });
  await tracker.flush();
}

/** What a page's own code reads from `process.env`. */
export const envFor = (sandbox: { url: string; clientId: number; apiKey: string }) => ({
  TRACKING_URL: sandbox.url,
  TRACKING_CLIENT_ID: String(sandbox.clientId),
  TRACKING_API_KEY: sandbox.apiKey,
});

/** A browser: it keeps cookies and asks for pages. */
export function browser(app: Parameters<typeof request.agent>[0]) {
  return request.agent(app).set({ "User-Agent": FIREFOX, Accept: "text/html" });
}

/** A visitor with both cookies, as a browser that has been at an affiliate's landing page. */
export function referred(app: Parameters<typeof request.agent>[0]) {
  return browser(app).set("Cookie", "svc_click_id=c1; svc_session_id=s1");
}
