import { describe, expect, it } from "vitest";
import { problemsIn } from "../helpers/docs/check.js";
import { blocksOf, isCode, pages, recipeOf } from "../helpers/docs/pages.js";

const code = pages.flatMap(blocksOf).filter(isCode);

describe("the docs' code", () => {
  it("is right, says TypeScript, which checks the README as strictly as the source", () => {
    const ours = code.filter((block) => !recipeOf(block));
    const sample = code.filter(({ page }) => page === "README.md");
    expect(sample).not.toEqual([]);
    expect(problemsIn([...ours, ...sample.map((block) => ({ ...block, info: "ts" }))])).toEqual([]);
  });

  it("would not get away with a mistake", () => {
    const block = (line: number, info: string, code: string) => ({
      ...{ page: "README.md", heading: "", line, info, code },
    });
    const blocks = [
      block(10, "js", 'import { memoryOutbocks } from "express-affiliate";'),
      block(20, "js", "await tracker.flush();\ntracker.trackPayment({ paymentId: 1 });"),
      block(30, "ts", "affiliate({ baseUrl, clientId: process.env.ID });"),
    ];
    expect(problemsIn(blocks)).toEqual([
      expect.stringContaining("README.md:30: Type 'string | undefined' is not assignable"),
      expect.stringContaining("README.md:10: '\"express-affiliate\"' has no exported member"),
      expect.stringContaining("README.md:21: Argument of type '{ paymentId: number; }'"),
    ]);
  });
});
