import { dependencies } from "../../../package.json";
import { requireFrom } from "../../shared/peer.js";

/**
 * Finds undici for the outbox's thread in the user's `node_modules`. The thread's script contains no copy of it: so the user's
 * own update brings a security release to the thread, and audit tools see what the thread loads.
 *
 * @param from files or directories beside which it may be installed.
 * @returns its file; `undefined` where no version in the package's range is installed. A bundler may have put undici into the host's
 *   file, which another thread cannot reach.
 */
export function findUndici(from: readonly (string | undefined)[]): string | undefined {
  for (const place of from) {
    if (place === undefined) continue;
    try {
      const require = requireFrom(place);
      // Beside a bundle, there may be any version.
      if (isInRange(require("undici/package.json").version)) return require.resolve("undici/index.js");
    } catch {}
  }
  return undefined;
}

/** Whether this version is in the range that the package depends on. */
function isInRange(version: string): boolean {
  const least = dependencies.undici.slice("^".length);
  const majorOf = (each: string) => each.split(".")[0];
  const isOlder = version.localeCompare(least, "en", { numeric: true }) < 0;
  return majorOf(version) === majorOf(least) && !isOlder;
}
