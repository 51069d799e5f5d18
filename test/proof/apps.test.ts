import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type App, linesOf, MOST_LINES } from "../../proof/apps/shared/app.js";
import { partsOf } from "../../proof/shared/run-parts.js";
import { root, textOf } from "../helpers/docs/pages.js";

const apps = await Promise.all(
  partsOf("apps").map(async (name) => {
    const { default: app }: { default: App } = await import(join(root, `proof/apps/${name}.ts`));
    return { name, app };
  }),
);

describe("the patches of other people's applications", () => {
  it.each(apps)("are short: $name", ({ app }) => {
    expect(linesOf(app.patch)).toBeGreaterThan(0);
    expect(linesOf(app.patch)).toBeLessThanOrEqual(MOST_LINES);
  });

  it("are all applied", () => {
    const copied = apps.flatMap(({ app }) =>
      app.patch.flatMap((edit) => ("copy" in edit ? [edit.copy] : [])),
    );
    const files = readdirSync(join(root, "proof/apps/patches"), { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => /\.\w+$/.test(file)).sort()).toEqual([...new Set(copied)].sort());
  });

  it("are in the table of results, each with its lines", () => {
    const rows = [...textOf("bench/results/proofs.md").matchAll(/^\| `(\S+)` \|.*\| (\d+) \|/gm)];
    const shown = Object.fromEntries(rows.map(([, name, lines]) => [name, Number(lines)]));
    expect(shown).toEqual(Object.fromEntries(apps.map(({ name, app }) => [name, linesOf(app.patch)])));
  });
});
