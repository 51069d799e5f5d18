import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const src = resolve(import.meta.dirname, "../src");

/**
 * The layers, from the top down: a file imports only from layers below its own, types included. A folder stands for all of its
 * files that have no layer of their own; they may import each other, but not in a circle.
 */
const layers: readonly (readonly string[])[] = [
  ["cli/main.ts"],
  [
    "index.ts",
    "outbox/index.ts",
    "outbox/disk/index.ts",
    "outbox/postgres/index.ts",
    "outbox/mysql/index.ts",
    "testing/index.ts",
  ],
  ["dashboard/"],
  ["affiliate.ts", "cli/doctor/", "cli/outbox/", "cli/migrations.ts", "testing/"],
  ["tracker.ts", "cli/"],
  ["request/on-click.ts", "request/on-conversion.ts"],
  ["request/visitor.ts"],
  ["request/attribution.ts"],
  ["config.ts", "track.ts", "shutdown.ts", "settlement.ts", "request/"],
  ["options.ts"],
  ["engine/"],
  ["delivery/"],
  [
    "outbox/memory/memory-outbox.ts",
    "outbox/disk/disk-outbox.ts",
    "outbox/postgres/postgres-outbox.ts",
    "outbox/mysql/mysql-outbox.ts",
  ],
  ["outbox/sql/sql-outbox.ts"],
  ["outbox/create-outbox.ts"],
  ["outbox/durable.ts"],
  [
    "outbox/memory/",
    "outbox/disk/",
    "outbox/postgres/",
    "outbox/mysql/",
    "outbox/relay.ts",
    "outbox/fallback.ts",
    "journal/journal.ts",
  ],
  ["outbox/sql/"],
  ["outbox/verdicts.ts"],
  ["outbox/pending-events.ts", "outbox/storage-state.ts"],
  ["outbox/receipts.ts"],
  ["journal/words.ts"],
  ["journal/event-notice.ts"],
  ["journal/notices.ts", "journal/log.ts"],
  ["journal/ration.ts"],
  ["outbox/claim-steps.ts"],
  ["outbox/outbox.ts", "outbox/shedding.ts"],
  ["outbox/dead-letters.ts", "outbox/urgency.ts"],
  ["service/client.ts"],
  ["service/transport.ts", "service/answers.ts", "service/refusal.ts"],
  ["service/calls.ts", "service/endpoints.ts"],
  ["inputs.ts"],
  ["fields.ts"],
  [
    "events.ts",
    "service/attempt.ts",
    "service/destination.ts",
    "service/dispatcher.ts",
    "service/event-loop.ts",
    "request/signatures.ts",
  ],
  [
    "shared/",
    "delivery/finding.ts",
    "outbox/lease.ts",
    "outbox/option-types.ts",
    "service/retry-after.ts",
    "request/private-response.ts",
  ],
];

const SANDBOX = "sandbox/";

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".ts") && !name.endsWith(".d.ts"),
);

function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(src, file), "utf8"));
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("."))
    .map((name) => normalize(join(dirname(file), name)).replace(/\.js$/, ".ts"));
}

function layerOf(file: string): number {
  const exact = layers.findIndex((layer) => layer.includes(file));
  return exact >= 0
    ? exact
    : layers.findIndex((layer) => layer.some((folder) => folder.endsWith("/") && file.startsWith(folder)));
}

function areInOneFolder(one: string, other: string): boolean {
  return layers
    .flat()
    .some((folder) => folder.endsWith("/") && one.startsWith(folder) && other.startsWith(folder));
}

describe("the layers", () => {
  it.each(files.filter((file) => !file.startsWith(SANDBOX)))("%s imports only from layers below", (file) => {
    expect(layerOf(file), "it has a layer").toBeGreaterThanOrEqual(0);
    for (const imported of importsOf(file)) {
      if (imported === "../package.json" || areInOneFolder(file, imported)) continue;
      // A script for the browser, as a text.
      if (imported.startsWith("browser/")) continue;
      // The command starts the sandbox; no other file knows of it.
      if (file === "cli/main.ts" && imported.startsWith(SANDBOX)) continue;
      expect(layerOf(imported), imported).toBeGreaterThan(layerOf(file));
    }
  });

  it.each(files.filter((file) => file.startsWith(SANDBOX)))("%s knows nothing of the rest", (file) => {
    // Scripts for the browser are texts here, and know nothing of the tracking service.
    for (const imported of importsOf(file)) expect(imported).toMatch(/^(sandbox|browser)\//);
  });

  it("has no circle", () => {
    const ended = new Set<string>();
    const follow = (file: string, way: readonly string[]): void => {
      expect([...way, file], "a circle of imports").toEqual([...new Set([...way, file])]);
      if (ended.has(file) || !files.includes(file)) return;
      for (const imported of importsOf(file)) follow(imported, [...way, file]);
      ended.add(file);
    };
    for (const file of files) follow(file, []);
  });

  it("has no folder that stands empty", () => {
    for (const folder of layers.flat()) {
      expect(
        files.some((file) => file === folder || (folder.endsWith("/") && file.startsWith(folder))),
        folder,
      ).toBe(true);
    }
  });

  it("keeps outboxes from knowing the client", () => {
    for (const file of files.filter((each) => each.startsWith("outbox/"))) {
      expect(importsOf(file)).not.toContain("service/client.ts");
      expect(importsOf(file)).not.toContain("service/transport.ts");
    }
  });
});
