import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { exports } from "../package.json";
import { linksOf, pages, root } from "./helpers/docs/pages.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { userProject } from "./helpers/user-project.js";

/** What `npm pack` would pack, were the package built. */
function packed(): string[] {
  const said = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
  const [{ files }] = JSON.parse(String(said)) as [{ files: { path: string }[] }];
  return files.map(({ path }) => path);
}

const dist = join(inject("builtPackage"), "dist");

describe("the package", () => {
  it("holds no path of the machine that built it", () => {
    const files = readdirSync(dist);
    expect(files).toContain("index.js");
    for (const file of files) {
      const text = readFileSync(join(dist, file), "utf8");
      for (const path of [root, homedir()]) expect(text.includes(path), `${path} in ${file}`).toBe(false);
    }
  });

  it("has the licences of the packages that are in its files, and of no others", () => {
    const licences = readFileSync(join(dist, "licenses.txt"), "utf8");
    const bundled = ["htm", "preact", "zod"];
    for (const name of bundled) {
      const folder = join(root, "node_modules", name);
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const licence = readFileSync(join(folder, "LICENSE"), "utf8").trim();
      expect(licences).toContain(`${name} ${version}\n\n${licence}\n`);
    }
    expect(licences.match(/(?<=^-{80}\n\n)\S+/gm)).toEqual(bundled);
  });

  it("has nothing of undici in it: what users install is what runs", () => {
    // The name of one of its diagnostics channels, which no minifier changes.
    const marker = "undici:client:sendHeaders";
    expect(readFileSync(join(root, "node_modules/undici/lib/core/diagnostics.js"), "utf8")).toContain(marker);
    const files = readdirSync(dist).filter((file) => readFileSync(join(dist, file), "utf8").includes(marker));
    expect(files).toEqual([]);
  });

  it.each(Object.keys(exports).filter((subpath) => subpath !== "./package.json"))(
    "is the same, and once in a process, whether it is imported or required: %s",
    async (subpath) => {
      const folder = await userProject({});
      const specifier = `express-affiliate${subpath.slice(1)}`;
      const script = `
        import { createRequire } from "node:module";
        import * as imported from "${specifier}";
        const required = createRequire(import.meta.url)("${specifier}");
        const names = Object.keys(required);
        const isSame = names.every((name) => imported[name] === required[name]);
        const hasName = (name) => typeof imported[name] !== "function" || imported[name].name === name;
        console.log(names.length > 0 && isSame && names.every(hasName) && names.length === Object.keys(imported).length);`;
      const said = execFileSync("node", ["--input-type=module", "-e", script], { cwd: folder });
      expect(String(said)).toBe("true\n");
    },
  );

  it.each(["js", "cjs"])("has the gateways in files that run without any package: gateways.%s", (ending) => {
    const folder = scratchDirectory();
    const copied = new Set<string>();
    function copy(file: string): void {
      if (copied.has(file)) return;
      copied.add(file);
      const text = readFileSync(join(dist, file), "utf8");
      writeFileSync(join(folder, file), text);
      for (const [, name = ""] of text.matchAll(/(?:from|require\(|import)\s*['"]\.\/([\w.-]+)['"]/g))
        copy(name);
    }
    copy(`gateways.${ending}`);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const script = `import * as gateways from "./gateways.${ending}";
      console.log(gateways.majorUnits(1990n, "eur"), gateways.metadata({ sessionId: "s1" }).affiliate);`;
    const said = execFileSync("node", ["--input-type=module", "-e", script], { cwd: folder });
    expect(String(said)).toBe('19.9 {"sessionId":"s1"}\n');
    expect(copied.size).toBeLessThan(5);
  });

  it("brings along whatever its pages lead to", () => {
    const files = packed();
    const inPackage = pages.filter((page) => files.includes(page));
    expect(inPackage).toEqual(expect.arrayContaining(["README.md", "docs/errors.md", "docs/README.md"]));
    const broken = inPackage.flatMap((page) =>
      linksOf(page)
        .map((link) => normalize(join(dirname(page), link.split("#")[0] || ".")))
        .map((target) => (target.startsWith("..") ? target : target.replace(/\/$/, "")))
        .filter(
          (target) =>
            target !== "docs" &&
            target !== "." &&
            !files.some((file) => file === target || file.startsWith(`${target}/`)),
        )
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });
});
