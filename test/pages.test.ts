import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const src = resolve(import.meta.dirname, "../src");
const scripts = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".js"),
);

describe("the scripts for browsers", () => {
  it.each(scripts)("hand the browser no HTML to parse: %s", (script) => {
    const text = readFileSync(join(src, script), "utf8");
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\bstyle=/i);
  });
});
