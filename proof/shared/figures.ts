import { setTimeout as sleep } from "node:timers/promises";

/** A measurement and its bound. A measurement without a bound is only printed. */
export interface Figure {
  readonly what: string;
  readonly measured: number;
  readonly unit?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** A sentence for each thing that was counted. */
  readonly details?: readonly string[];
}

/** How many of them are printed. */
const MOST_DETAILS = 20;

const EACH_MS = 20;
const MOST_OF_A_LOOK_MS = 1_000;

export type Bound = Omit<Figure, "what" | "measured">;
export type Row = readonly [what: string, measured: number, bound?: Bound];

export function figures(...rows: readonly Row[]): Figure[] {
  return rows.map(([what, measured, bound]) => ({ what, measured, ...bound }));
}

/** Figures of one thing. */
export function figuresOf(name: string, ...rows: readonly Row[]): Figure[] {
  return figures(...rows).map((figure) => ({ ...figure, what: `${name}: ${figure.what}` }));
}

/** The bounds of what must be this number. */
export const exactly = (number: number) => ({ atLeast: number, atMost: number });

/** What is wrong, a sentence each. */
export function wrongIn(name: string, details: readonly string[]): Figure[] {
  return figuresOf(name, ["wrong", details.length, { atMost: 0, details }]);
}

/** Whether it keeps to its bounds. */
export function holds({ measured, atLeast = -Infinity, atMost = Infinity }: Figure): boolean {
  return measured >= atLeast && measured <= atMost;
}

/**
 * Waits until it is so, for `most` seconds. Resolves to how many it waited, as the sum of its timers
 * and looks: a time for which the machine gives this process no processor counts as one of them.
 */
export async function secondsUntil(isSo: () => boolean | Promise<boolean>, most = 300): Promise<number> {
  for (let waitedMs = 0; ; ) {
    const began = performance.now();
    if ((await isSo()) || waitedMs >= most * 1_000) return waitedMs / 1_000;
    waitedMs += EACH_MS + Math.min(MOST_OF_A_LOOK_MS, performance.now() - began);
    await sleep(EACH_MS);
  }
}

const shown = (number: number) => String(Math.round(number * 100) / 100);

/** A line for each: what, the measurement, its bound, whether it was missed. Then the details. */
export function linesOf(all: readonly Figure[]): string[] {
  const lines = columns(
    all.map((figure) => {
      const { what, measured, unit } = figure;
      const missed = holds(figure) ? "" : "MISSED";
      return [`  ${what}`, `${shown(measured)}${unit ? ` ${unit}` : ""}`, boundOf(figure), missed];
    }),
  );
  const details = all.flatMap((figure) => figure.details ?? []);
  return [...lines, ...details.slice(0, MOST_DETAILS).map((text) => `  ${text}`)];
}

/** Prints the figures of these rows. Returns whether all keep to their bounds. */
export function allHold(...rows: readonly Row[]): boolean {
  const all = figures(...rows);
  console.log(linesOf(all).join("\n"));
  return all.every(holds);
}

function boundOf({ atLeast, atMost }: Figure): string {
  if (atLeast !== undefined && atLeast === atMost) return `exactly ${shown(atLeast)}`;
  return [
    atLeast === undefined ? [] : `at least ${shown(atLeast)}`,
    atMost === undefined ? [] : `at most ${shown(atMost)}`,
  ].join(" ");
}

/** Rows of cells as lines, with columns of equal width. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
