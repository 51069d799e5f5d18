import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import {
  ArgumentError,
  errorCodeOf,
  errorFrom,
  NoAnswerError,
  OptionsError,
  OutboxError,
  TrackingApiError,
} from "../../src/shared/errors.js";

const root = resolve(import.meta.dirname, "../..");
// Whole codes only: a type may say how they all begin.
const CODE = /ERR_AFFILIATE_[A-Z_]*[A-Z](?![A-Z_])/g;

const sources = readdirSync(resolve(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(resolve(root, "src", name), "utf8"));
const codes = [...new Set(sources.flatMap((source) => source.match(CODE) ?? []))].sort();
const headings = readFileSync(resolve(root, "docs/errors.md"), "utf8").match(/^## .+$/gm) ?? [];

it("error codes have a heading each in docs/errors.md, and no heading is left over", () => {
  expect(headings.map((heading) => heading.match(CODE)?.[0]).sort()).toEqual(codes);
});

describe("an error's message", () => {
  it.each([
    new OptionsError("affiliate", ["`clientId` is required"]),
    new OptionsError("affiliate", ["`clientId` is required", "`baseUrl` is required"]),
    new ArgumentError("it is no id"),
    new TrackingApiError({ status: 401, error: "Unauthorized", message: "no key" }),
    new NoAnswerError("no answer", false, new Error("ECONNREFUSED")),
    ...codes.map((code) => new OutboxError(code, "it fails")),
  ])("ends with the place of its heading in docs/errors.md, once: $code", ({ code, message }) => {
    expect(message).toMatch(/\s\(docs\/errors\.md#\w+\)$/);
    expect(message.match(/(?<=errors\.md#)\w+/g)).toEqual([code.toLowerCase()]);
    // GitHub's anchor of a heading is its text in lower case.
    expect(headings).toContain(`## \`${code}\``);
  });

  it("names no second place if it repeats another error's", () => {
    const { message } = new OutboxError("ERR_AFFILIATE_POSTGRES_TABLES", "there are none");
    expect(new OutboxError("ERR_AFFILIATE_TRANSACTION", message).message).toBe(message);
  });
});

it.each(["text", undefined, null, 42, Symbol("x"), Object.create(null)])(
  "errorFrom makes an error of %o",
  (thrown) => {
    expect(errorFrom(thrown)).toBeInstanceOf(Error);
  },
);

it("errorCodeOf finds the code of the error, of its cause, or its name", () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  expect(errorCodeOf(refused)).toBe("ECONNREFUSED");
  expect(errorCodeOf(new TypeError("fetch failed", { cause: refused }))).toBe("ECONNREFUSED");
  expect(errorCodeOf(new TypeError("fetch failed"))).toBe("TypeError");
});
