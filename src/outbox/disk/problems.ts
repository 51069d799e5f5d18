import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { AffiliateError } from "../../shared/errors.js";
import { failureOf } from "./sqlite.js";

/** Describes what SQLite, the file system or this package threw. */
export function problemOf(error: unknown, path: string): { code: string; message: string } {
  if (error instanceof AffiliateError) return { code: error.code, message: error.message };
  const { message } = error as Error;
  const failure = failureOf(error);
  switch (failure === "other" && isFull(path) ? "full" : failure) {
    case "full":
      return {
        code: "ERR_AFFILIATE_DISK_FULL",
        message: `diskOutbox: no space is left for ${path} (${message})`,
      };
    case "busy":
      return {
        code: "ERR_AFFILIATE_DISK_BUSY",
        message: `diskOutbox: another process kept ${path} locked (${message})`,
      };
    default:
      return {
        code: "ERR_AFFILIATE_DISK_UNUSABLE",
        message: `diskOutbox: ${path} cannot be written (${message}); it must be on a local disk, in a directory that this user may write`,
      };
  }
}

// SQLite's smallest files, its log and its index, take some 40 KB.
const LEAST_BYTES = 64 * 1024;

/** SQLite says of a full disk, at some calls, no more than that its file cannot be opened or written. */
function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < LEAST_BYTES;
  } catch {
    return false;
  }
}
