import { type Figure, figuresOf } from "../../shared/figures.js";

/** One part of `npm run proof front`: the default export of proof/front/NAME.ts. */
export interface Part {
  /** What it shows, in one line. */
  readonly title: string;
  /** Starts and ends the programs that it needs. `short`: fewer visitors and less time. */
  prove(options: { readonly short: boolean }): Promise<{
    readonly scenes: readonly Scene[];
    readonly figures?: readonly Figure[];
  }>;
}

/** What some visitors did, and what the service has recorded of them. */
export interface Scene {
  readonly figures: readonly Figure[];
  /** What is missing, repeated or credited to another affiliate: one sentence each. */
  readonly wrong: readonly string[];
}

/** The numbers of what was seen, each with that of what was expected. */
export function sceneOf(
  name: string,
  counts: Readonly<Record<string, { readonly seen: number; readonly expected: number }>>,
  wrong: readonly string[],
): Scene {
  const rows = Object.entries(counts).map(
    ([what, { seen, expected }]) => [what, seen, { atLeast: expected, atMost: expected }] as const,
  );
  return { figures: figuresOf(name, ...rows), wrong: wrong.map((text) => `${name}: ${text}`) };
}
