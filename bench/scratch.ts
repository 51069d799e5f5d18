import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directories: string[] = [];
process.once("disconnect", () => {
  // The last listener there is: an outbox ends before its directory goes.
  process.once("exit", () => {
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });
});

/** A directory of this process' own, gone when the process ends that has started this one. */
export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-bench-"));
  directories.push(directory);
  return directory;
}
