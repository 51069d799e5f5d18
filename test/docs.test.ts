import { existsSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { recipes } from "../proof/frameworks/recipes.js";
import tsconfig from "../tsconfig.json" with { type: "json" };
import typedoc from "../typedoc.config.js";
import { anchorsOf, blocksOf, linksOf, pages, partOf, recipeOf, root, textOf } from "./helpers/docs/pages.js";

describe("the docs' recipes", () => {
  const shown = pages.flatMap(blocksOf).flatMap((block) => {
    const recipe = recipeOf(block);
    return recipe ? [{ ...block, ...recipe }] : [];
  });

  it.each(shown)("are the code that is walked: $page:$line, $file", ({ code, file, region }) => {
    expect(partOf(file, region)).toBe(code);
  });

  it("are all shown, and all walked", () => {
    const folders = readdirSync(join(root, "test/frameworks"));
    const notShown = folders.flatMap((folder) =>
      readdirSync(join(root, "test/frameworks", folder), { recursive: true, encoding: "utf8" })
        .filter((name) => /\.[jt]s$/.test(name))
        .map((name) => `test/frameworks/${folder}/${name}`)
        .flatMap((file) =>
          [...textOf(file).matchAll(/\/\/ #region (\S+)/g)].map(([, name]) => `${file}#${name}`),
        )
        .filter((part) => !shown.some(({ file, region }) => part === `${file}#${region}`)),
    );
    expect(notShown).toEqual([]);
    expect(["kit", ...Object.keys(recipes)]).toEqual(expect.arrayContaining(folders));
  });

  // Otherwise one whose folder is misnamed would be walked as the kit's shop, and pass.
  it("have an app and a folder of their own, but for these", () => {
    const names = Object.keys(recipes);
    const has = (folder: string, file = "") => existsSync(join(root, "test/frameworks", folder, file));
    expect(names.filter((name) => !has(name))).toEqual([
      ...["pgbouncer", "mysql-typeorm", "mysql-sequelize", "mysql-knex", "mysql-kysely"],
    ]);

    const hasApp = (folder: string) => has(folder, "app.js") || has(folder, "app.ts");
    const withKits = names.filter((name) => ![recipes[name]?.basedOn ?? [], name].flat().some(hasApp));
    expect(withKits).toEqual(["esbuild", "webpack", "rollup", "vite", "mocks", "deno", "bun"]);
  });
});

it("the docs install a version of SQLite's package that the peer range takes, with every package manager", () => {
  const [, version = ""] = /^~(\d+\.\d+)$/.exec(packageJson.peerDependencies["@photostructure/sqlite"]) ?? [];
  expect(version).not.toBe("");
  const installs = pages.flatMap(
    (page) => textOf(page).match(/install [^\n]*@photostructure\/sqlite\S*/g) ?? [],
  );
  expect(installs.length).toBeGreaterThan(3);
  for (const install of installs) expect(install).toContain(`@photostructure/sqlite@${version}`);
});

it("the API reference has every entry point of the package", () => {
  const entries = Object.keys(packageJson.exports).filter((subpath) => subpath !== "./package.json");
  const paths = Object.keys(tsconfig.compilerOptions.paths);
  expect(paths.sort()).toEqual(entries.map((subpath) => subpath.replace(".", "express-affiliate")).sort());
  expect(typedoc.entryPoints).toHaveLength(paths.length);
});

describe("the docs' links", () => {
  it.each(pages)("lead from %s to files and headings that exist", (page) => {
    const broken = linksOf(page).filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it("lead from CONTRIBUTING.md to files that exist, named by their paths", () => {
    const named = [...textOf("CONTRIBUTING.md").matchAll(/`((?:src|test|proof|bench)\/[\w./-]+)`/g)];
    expect(named.length).toBeGreaterThan(10);
    expect(named.map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("lead from the index to every page", () => {
    const linked = linksOf("docs/README.md").map((link) => normalize(join("docs", link.split("#")[0] ?? "")));
    const guides = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
    expect(linked).toEqual(expect.arrayContaining(guides));
  });
});
