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
    const blocks = [
      ["js", "tracker.onSignup();"],
      ["js", 'import { memoryOutbocks } from "express-affiliate";'],
      ["js", "await tracker.flush();\ntracker.trackPayment({ paymentId: 1 });"],
      ["js", "supertest();"],
      ["ts", "affiliate({ baseUrl, clientId: process.env.ID });"],
    ].map(([info = "", code = ""], nth) => ({
      page: "README.md",
      heading: "",
      line: 10 * (nth + 1),
      info,
      code,
    }));
    expect(problemsIn(blocks)).toEqual([
      expect.stringContaining("README.md:50: Type 'string | undefined' is not assignable"),
      expect.stringContaining("README.md:10: Property 'onSignup' does not exist"),
      expect.stringContaining("README.md:20: '\"express-affiliate\"' has no exported member"),
      expect.stringContaining("README.md:31: Argument of type '{ paymentId: number; }'"),
      expect.stringContaining("README.md:40: Cannot find name 'supertest'"),
    ]);
  });
});
