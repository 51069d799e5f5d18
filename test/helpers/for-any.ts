import fc from "fast-check";

export { anyCharacter } from "./any-character.js";

type Arbitraries<Values extends [unknown, ...unknown[]]> = {
  [Nth in keyof Values]: fc.Arbitrary<Values[Nth]>;
};

/** Checks that something holds for any values of arbitraries: for so many. */
export function times(numRuns: number) {
  return {
    forAny<Values extends [unknown, ...unknown[]]>(
      ...property: [...Arbitraries<Values>, holds: (...values: Values) => void]
    ): void {
      fc.assert(fc.property<Values>(...property), { numRuns });
    },
    /** For what takes its time. */
    forAnyAsync<Values extends [unknown, ...unknown[]]>(
      ...property: [...Arbitraries<Values>, holds: (...values: Values) => Promise<void>]
    ): Promise<void> {
      return fc.assert(fc.asyncProperty<Values>(...property), { numRuns });
    },
  };
}

// As many as fast-check itself takes.
export const { forAny, forAnyAsync } = times(100);
