import { join } from "node:path";

// Not imported: webpack would bundle a module that is required at run time.
const { createRequire } = process.getBuiltinModule("node:module");

/** `require` as it works in this file or directory. */
export function requireFrom(place: string): NodeJS.Require {
  return createRequire(place);
}

/** Beside the module that needs the peer, the started script, or in the working directory. */
export function peerPlaces(wanting: string): readonly (string | undefined)[] {
  return [wanting, process.argv[1], join(process.cwd(), "any.js")];
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
