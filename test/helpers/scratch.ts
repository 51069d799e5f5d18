import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** A new directory, gone when the file's tests are: see test/setup/scratch.ts. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-"));
  made.push(directory);
  return directory;
}

export function removeScratchDirectories(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}
