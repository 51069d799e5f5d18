import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directories: string[] = [];
process.on("exit", () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A directory of this process' own, gone when it ends. */
export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-bench-"));
  directories.push(directory);
  return directory;
}
