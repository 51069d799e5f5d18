import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const src = resolve(import.meta.dirname, "../src");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
  /(?<!\.d)\.[jt]s$/.test(name),
);

/**
 * The files that a file imports: as modules, as a thread's script (`inline:`), as a page's
 * (`?script`) or as a text (`?raw`).
 */
function importsOf(file: string): string[] {
  return ts
    .preProcessFile(readFileSync(join(src, file), "utf8"))
    .importedFiles.map(({ fileName }) => fileName.replace(/^inline:/, "").replace(/\?\w+$/, ""))
    .filter((name) => name.startsWith("."))
    .map((name) => normalize(join(dirname(file), name)))
    .map((name) => (files.includes(name) ? name : name.replace(/\.js$/, ".ts")));
}

/**
 * A folder is a layer. So is the whole sandbox, an entry point, and each file of `src/` itself.
 * Biome's rule `noImportCycles` is for the files of one folder.
 */
function layerOf(file: string): string {
  if (file.startsWith("sandbox/")) return "sandbox";
  return /^[^/]+$|\/(index|main)\.ts$/.test(file) ? file : dirname(file);
}

/** For each layer, the other layers that it imports from. */
function layers(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const file of files) {
    const layer = layerOf(file);
    const below = importsOf(file).map(layerOf);
    found.set(layer, new Set([...(found.get(layer) ?? []), ...below.filter((name) => name !== layer)]));
  }
  return found;
}

/** Layers that import from each other, in a circle; none if there is no such circle. */
function circleIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const ended = new Set<string>();
  const follow = (layer: string, way: readonly string[]): string[] => {
    if (way.includes(layer)) return [...way.slice(way.indexOf(layer)), layer];
    if (ended.has(layer)) return [];
    for (const below of graph.get(layer) ?? []) {
      const circle = follow(below, [...way, layer]);
      if (circle.length > 0) return circle;
    }
    ended.add(layer);
    return [];
  };
  return [...graph.keys()].map((layer) => follow(layer, [])).find(({ length }) => length > 0) ?? [];
}

describe("the layers", () => {
  it("import in one direction", () => {
    expect(layers().size).toBeGreaterThan(20);
    expect(circleIn(layers())).toEqual([]);
  });

  it("would not get away with one import in the other direction", () => {
    const upwards = layers();
    upwards.get("service")?.add("delivery");
    expect(circleIn(upwards)).toEqual(expect.arrayContaining(["service", "delivery"]));
  });

  it("have the thread's script among them, and the pages' scripts", () => {
    expect(importsOf("outbox/disk/thread/link.ts")).toContain("outbox/disk/thread/thread.ts");
    expect([...(layers().get("dashboard") ?? [])]).toContain("dashboard/browser");
  });
});

describe.each([
  ["the sandbox", /^sandbox\//, /^(sandbox|browser)\//, ["cli/sandbox.ts"]],
  ["a gateway's reader", /^gateways\//, /^(gateways\/|shared\/errors\.ts$)/, []],
])("%s", (_, own, allowed, importers) => {
  const isOwn = (file: string) => own.test(file);

  it.each(files.filter(isOwn))(
    "knows nothing of the rest but scripts for pages or the class of errors: %s",
    (file) => {
      for (const imported of importsOf(file)) expect(imported).toMatch(allowed);
    },
  );

  it("is known to the command that starts it, if at all", () => {
    expect(files.filter((file) => !isOwn(file) && importsOf(file).some(isOwn))).toEqual(importers);
    expect(importsOf("shared/errors.ts")).toEqual([]);
  });
});

it.each(files.filter((file) => file.startsWith("outbox/")))(
  "an outbox knows no client, and runs without the contract's tests: %s",
  (file) => {
    for (const imported of importsOf(file))
      expect(imported).not.toMatch(/^(testing\/|service\/(client|transport)\.ts$)/);
  },
);
