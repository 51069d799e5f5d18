import { createRequire } from "node:module";

/**
 * Finds an optional peer.
 *
 * @param places files or directories beside which it may be installed.
 * @returns its file; `undefined` where there is none.
 */
export function resolvePeer(name: string, places: readonly (string | undefined)[]): string | undefined {
  for (const place of places) {
    if (place === undefined) continue;
    try {
      return createRequire(place).resolve(name);
    } catch {}
  }
  return undefined;
}
