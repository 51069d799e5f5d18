import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** A new folder, gone when this process ends. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "express-affiliate-proof-"));
  folders.push(folder);
  return folder;
}
