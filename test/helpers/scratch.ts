import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];
afterAll(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** A new directory, gone when the file's tests are. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-"));
  made.push(directory);
  return directory;
}
