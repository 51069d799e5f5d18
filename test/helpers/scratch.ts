import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** A new directory. Those who start a process or a file of tests remove it. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-"));
  made.push(directory);
  return directory;
}

/** Removes a directory in one step, whatever a thread makes in it, and may put a file in its place. */
export function removeAtOnce(directory: string, inItsPlace?: string): void {
  const away = scratchDirectory();
  renameSync(directory, away);
  if (inItsPlace) writeFileSync(directory, inItsPlace);
  remove(away);
}

export function removeScratchDirectories(): void {
  made.splice(0).forEach(remove);
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
}
