import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { OutboxError } from "../../shared/errors.js";

interface Use {
  readonly engine: string;
  outboxes: number;
}

// Of the process, and not of this module: a second copy of this package brings a second copy of SQLite.
const REGISTRY = Symbol.for("express-affiliate.disk.files");
const ofProcess = globalThis as { [REGISTRY]?: Map<string, Use> };
ofProcess[REGISTRY] ??= new Map();
const files = ofProcess[REGISTRY];

/**
 * Notes which copy of SQLite this process uses a file with. Closing a file drops all locks that the process has on it, and a second
 * copy does not know of the first one's: the file would be damaged.
 *
 * @param engine what `findEngine` found.
 * @returns what to call once the file is closed.
 * @throws OutboxError `ERR_AFFILIATE_DISK_COPIES` where the process uses the file with another copy.
 */
export function useOneCopy(path: string, engine: string): () => void {
  const file = realPath(path);
  const use = files.get(file) ?? { engine, outboxes: 0 };
  if (use.engine !== engine) {
    throw new OutboxError(
      "ERR_AFFILIATE_DISK_COPIES",
      `diskOutbox: this process already uses ${file} with another copy of SQLite (${use.engine}, and now ${engine}), which would damage the file; install one copy (npm ls express-affiliate @photostructure/sqlite)`,
    );
  }
  use.outboxes++;
  files.set(file, use);
  return () => {
    if (--use.outboxes === 0) files.delete(file);
  };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // Not made yet: its directory says where it will be.
    const parent = dirname(path);
    if (parent === path) throw error;
    return join(realPath(parent), basename(path));
  }
}
