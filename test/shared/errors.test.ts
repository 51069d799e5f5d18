import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { errorCodeOf, errorFrom } from "../../src/shared/errors.js";

const root = resolve(import.meta.dirname, "../..");
// Whole codes only: a type may say how they all begin.
const CODE = /ERR_AFFILIATE_[A-Z_]*[A-Z](?![A-Z_])/g;

describe("error codes", () => {
  it("have a heading each in docs/errors.md, and no heading is left over", () => {
    const sources = readdirSync(resolve(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(resolve(root, "src", name), "utf8"));
    const codes = new Set(sources.flatMap((source) => source.match(CODE) ?? []));
    const headings = readFileSync(resolve(root, "docs/errors.md"), "utf8").match(/^## .+$/gm) ?? [];
    expect(headings.map((heading) => heading.match(CODE)?.[0]).sort()).toEqual([...codes].sort());
  });
});

describe("errorFrom", () => {
  it.each(["text", undefined, null, 42, Symbol("x"), Object.create(null)])(
    "makes an error of %o",
    (thrown) => {
      expect(errorFrom(thrown)).toBeInstanceOf(Error);
    },
  );
});

describe("errorCodeOf", () => {
  it("finds the code of the error, of its cause, or its name", () => {
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    expect(errorCodeOf(refused)).toBe("ECONNREFUSED");
    expect(errorCodeOf(new TypeError("fetch failed", { cause: refused }))).toBe("ECONNREFUSED");
    expect(errorCodeOf(new TypeError("fetch failed"))).toBe("TypeError");
  });
});
