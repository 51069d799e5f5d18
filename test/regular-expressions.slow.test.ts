import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it, vi } from "vitest";
import { spellingsOf } from "../src/shared/secret.js";

// In this process, without the program that recheck starts otherwise.
vi.stubEnv("RECHECK_BACKEND", "pure");
const { checkSync } = await import("recheck");

const src = resolve(import.meta.dirname, "../src");
const literals = new Set<string>();
const constructed: string[] = [];
for (const file of readdirSync(src, { recursive: true, encoding: "utf8" })) {
  if (!/\.[jt]s$/.test(file)) continue;
  const text = readFileSync(join(src, file), "utf8");
  collect(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), file);
}

function collect(node: ts.Node, file: string): void {
  if (ts.isRegularExpressionLiteral(node)) literals.add(node.text);
  const isCall = ts.isNewExpression(node) || ts.isCallExpression(node);
  if (isCall && node.expression.getText() === "RegExp") constructed.push(file);
  ts.forEachChild(node, (child) => collect(child, file));
}

function regExpOf(literal: string): RegExp {
  const end = literal.lastIndexOf("/");
  return new RegExp(literal.slice(1, end), literal.slice(end + 1));
}

/**
 * Whether the pattern must be checked. Without an unbounded quantifier, it reads no more characters
 * at each place than it is long; with one, it reads the text at most twice if it searches at the
 * start only.
 */
function mayBeSlow({ source, multiline }: RegExp): boolean {
  const withoutClasses = source.replaceAll(/\\.|\[(?:[^\]\\]|\\.)*\]/g, ".");
  const unbounded = withoutClasses.match(/[*+]|\{\d+,\}/g) ?? [];
  const searchesAtStart =
    source.startsWith("^") && !multiline && !withoutClasses.replaceAll(/\([^)]*\)/g, "").includes("|");
  return unbounded.length > (searchesAtStart ? 1 : 0);
}

function growthOf({ source, flags }: RegExp) {
  // However busy the machine is. Vitest cannot end what is synchronous.
  const found = checkSync(source, flags, { timeout: 120_000, attackTimeout: null, incubationTimeout: null });
  if (found.status !== "vulnerable") return found.status;
  return { growth: found.complexity.summary, worst: found.attack.pattern };
}

/** All texts of one to three characters of the pattern's own, and of two others. */
function wordsOf({ source }: RegExp): string[] {
  const own = [...new Set(source.replaceAll(/\\[a-zA-Z]|[[\](){}?*+|^$]/g, ""))].slice(0, 8);
  const characters = [...own, "a", "\n"];
  const longer = (words: string[]) => words.flatMap((word) => characters.map((each) => word + each));
  return [characters, longer(characters), longer(longer(characters))].flat();
}

describe("a regular expression of the source", () => {
  const patterns = [...literals].map(regExpOf).filter(mayBeSlow);

  it("is found by the scan, and a slow one by the check", () => {
    expect(literals.size).toBeGreaterThan(80);
    expect(patterns.length).toBeGreaterThan(15);
    expect(growthOf(/^-?(?:\d+\.?\d*|\.\d+)$/)).toMatchObject({ growth: "2nd degree polynomial" });
  });

  it.each(patterns)("takes time in proportion to the text: %s", (pattern) => {
    expect(growthOf(pattern)).toBe("safe");
  });

  // The check above is for one search. `replace` and `matchAll` search again after each match.
  it.each(patterns.filter(({ global }) => global))("does so for all matches of a text: %s", (pattern) => {
    for (const word of wordsOf(pattern)) {
      const text = word.repeat(60_000 / word.length);
      const { user } = process.cpuUsage();
      text.replace(pattern, "");
      // In proportion, it takes a millisecond. With the square of the length, seconds.
      expect(process.cpuUsage().user - user, JSON.stringify(word)).toBeLessThan(500_000);
    }
  });

  it("that is made at run time has bounded parts only", () => {
    const makers = ["delivery/details.ts", "outbox/personal-data.ts", "shared/secret.ts"];
    expect(constructed.sort()).toEqual(makers);
    for (const text of ["sk_live_a+b/c=", "aaaaaaaaaaaaaaaa", "ünïcode name"]) {
      expect(mayBeSlow(new RegExp(spellingsOf(text)))).toBe(false);
    }
  });
});
