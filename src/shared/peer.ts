import { join } from "node:path";

/**
 * `require` as it works in a file or directory. Not imported: webpack would bundle a module that is
 * required at run time.
 */
export const requireFrom = process.getBuiltinModule("node:module").createRequire;

// A bundle that is an ES module has no `__filename`.
const thisFile = typeof __filename === "undefined" ? undefined : __filename;

/**
 * In which places peers are looked for: beside this package, beside the started script, in the
 * working directory.
 */
export function peerPlaces(): readonly (string | undefined)[] {
  return [thisFile, process.argv[1], join(process.cwd(), "any.js")];
}

/** An optional peer's file, looked for beside these files or directories. */
export function resolvePeer(name: string, places: readonly (string | undefined)[]): string | undefined {
  for (const place of places) {
    if (place === undefined) continue;
    try {
      return requireFrom(place).resolve(name);
    } catch {}
  }
  return undefined;
}
