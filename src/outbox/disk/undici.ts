import { dependencies } from "../../../package.json";
import { requireFrom } from "../../shared/peer.js";

/**
 * Finds undici for the outbox's thread, in the `node_modules` where the host's own import finds it: a security release reaches
 * the thread by the user's own update, and the user's audit tools see what the thread loads. So no copy is in the thread's script.
 *
 * @param from files or directories beside which it may be installed.
 * @returns its file; `undefined` where a bundler has put undici into the host's file, which another thread cannot reach.
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

/** Whether the host's import would take this version. */
function isInRange(version: string): boolean {
  const least = dependencies.undici.slice("^".length);
  const majorOf = (each: string) => each.split(".")[0];
  const isOlder = version.localeCompare(least, "en", { numeric: true }) < 0;
  return majorOf(version) === majorOf(least) && !isOlder;
}
