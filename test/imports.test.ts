import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const src = resolve(import.meta.dirname, "../src");

/**
 * The house, from the roof down: a file imports only from floors below its own, types included. A folder stands for all
 * of its files that have no floor of their own; they may import each other.
 */
const floors: readonly (readonly string[])[] = [
  ["index.ts", "disk.ts", "postgres.ts", "testing.ts", "outbox.ts", "cli.ts"],
  ["affiliate.ts", "doctor/", "migrations-command.ts", "outbox-command/", "testing/", "recording-outbox.ts"],
  ["clicks.ts", "conversions.ts"],
  ["attribution.ts"],
  ["request-source.ts"],
  ["options.ts", "tracker.ts", "lifecycle.ts"],
  ["outbox/memory.ts", "outbox/disk.ts", "outbox/postgres.ts", "delivery/delivery.ts"],
  ["delivery/announcer.ts"],
  [
    "journal.ts",
    "delivery/health.ts",
    "outbox/relay.ts",
    "outbox/shelter.ts",
    "outbox/queue.ts",
    "outbox/clicks-by-visitor.ts",
    "outbox/dead-letter-box.ts",
  ],
  ["delivery/endpoint-health.ts", "outbox/disk/", "outbox/postgres/"],
  ["outbox/outbox.ts", "outbox/visitors.ts"],
  ["delivery/outcome.ts"],
  ["client.ts"],
  ["transport.ts", "cookies.ts", "attribution-input.ts", "landing-page.ts"],
  ["dispatcher.ts", "signatures.ts", "endpoints.ts"],
  ["arguments.ts", "events.ts", "finding.ts", "read-options.ts"],
  ["money.ts"],
  ["clock.ts", "secret.ts"],
  [
    "delivery/backoff.ts",
    "errors.ts",
    "harmless.ts",
    "nearest.ts",
    "outbox/lease.ts",
    "outbox/line.ts",
    "outbox/known-ids.ts",
    "peer.ts",
    "printable.ts",
    "private-response.ts",
    "process-hooks.ts",
    "real-timers.ts",
    "retry-after.ts",
    "terminal.ts",
    "version.ts",
    "wait-until.ts",
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

function floorOf(file: string): number {
  const exact = floors.findIndex((floor) => floor.includes(file));
  return exact >= 0
    ? exact
    : floors.findIndex((floor) => floor.some((room) => room.endsWith("/") && file.startsWith(room)));
}

function areInOneRoom(one: string, other: string): boolean {
  return floors.flat().some((room) => room.endsWith("/") && one.startsWith(room) && other.startsWith(room));
}

describe("the house", () => {
  it.each(files.filter((file) => !file.startsWith(SANDBOX)))("%s imports only from floors below", (file) => {
    expect(floorOf(file), "it has a floor").toBeGreaterThanOrEqual(0);
    for (const imported of importsOf(file)) {
      if (imported === "../package.json" || areInOneRoom(file, imported)) continue;
      // The command starts the sandbox; nothing else knows of it.
      if (file === "cli.ts" && imported.startsWith(SANDBOX)) continue;
      expect(floorOf(imported), imported).toBeGreaterThan(floorOf(file));
    }
  });

  it.each(files.filter((file) => file.startsWith(SANDBOX)))("%s knows nothing of the rest", (file) => {
    for (const imported of importsOf(file)) expect(imported).toMatch(/^sandbox\//);
  });

  it("has no room that stands empty", () => {
    for (const room of floors.flat()) {
      expect(
        files.some((file) => file === room || (room.endsWith("/") && file.startsWith(room))),
        room,
      ).toBe(true);
    }
  });

  it("keeps outboxes from knowing the client", () => {
    for (const file of files.filter((each) => each.startsWith("outbox/"))) {
      expect(importsOf(file)).not.toContain("client.ts");
      expect(importsOf(file)).not.toContain("transport.ts");
    }
  });
});
