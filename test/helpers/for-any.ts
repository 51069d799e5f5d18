import fc from "fast-check";

const [SURROGATES, HOW_MANY] = [0xd800, 0x800];

/**
 * A unit of `fc.string`: any character of Unicode. The unit `binary` gives the same, and makes a
 * map of all of them first, which takes a second in each process.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - HOW_MANY }).map(
  (nth) => String.fromCodePoint(nth < SURROGATES ? nth : nth + HOW_MANY),
  (text) => {
    const [character, ...more] = text as string;
    const code = character?.codePointAt(0);
    if (code === undefined || more.length > 0) throw new Error("not one character");
    return code < SURROGATES ? code : code - HOW_MANY;
  },
);

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
