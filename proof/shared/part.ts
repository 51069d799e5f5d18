import { type Figure, holds, linesOf } from "./figures.js";
import { commandLine } from "./options.js";
import { runParts } from "./run-parts.js";

/** One part of `npm run proof world` or `front`: the default export of a file in its folder. */
export interface Part {
  /** What it shows, in one line. */
  readonly title: string;
  /** Starts and ends the programs that it needs. `short`: with fewer events and less time, for .ci/run. */
  prove(options: { readonly short: boolean }): Promise<readonly Figure[]>;
}

/** Prints what each part measured beside its bound. */
export function proveParts(folder: string): Promise<never> {
  const { options, words } = commandLine({ short: false });
  return runParts<Part>(folder, words, async (part) => {
    const figures = await part.prove(options);
    return { lines: linesOf(figures), kept: figures.every(holds) };
  });
}
