import { type Figure, holds, linesOf } from "./figures.js";
import { runParts } from "./run-parts.js";

/** One part of `npm run proof world` or `front`: the default export of a file in its folder. */
export interface Part {
  /** What it shows, in one line. */
  readonly title: string;
  /** Starts and ends the programs that it needs. */
  prove(options: PartOptions): Promise<readonly Figure[]>;
}

/** `short`: with fewer events and less time, for .ci/run. */
type PartOptions = { readonly short: boolean };

/** Prints what each part measured beside its bound. */
export function proveParts(folder: string, names: readonly string[], options: PartOptions): Promise<never> {
  return runParts<Part>(folder, names, async (part) => {
    const figures = await part.prove(options);
    return { lines: linesOf(figures), kept: figures.every(holds) };
  });
}
