import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/**
 * A new folder, gone when this process ends.
 *
 * @param kept what is in it, if it is to stay: then says where that is.
 */
export function scratch(kept?: string): string {
  const folder = mkdtempSync(join(tmpdir(), "express-affiliate-proof-"));
  if (kept) process.once("exit", () => console.log(`${kept} are in ${folder}`));
  else folders.push(folder);
  return folder;
}
