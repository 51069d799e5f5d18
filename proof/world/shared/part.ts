import type { Kind } from "../../outboxes/server.js";

/** One part of `npm run proof world`: the default export of proof/world/NAME.ts. */
export interface Part {
  /** What it shows, in one line. */
  readonly title: string;
  /**
   * Starts and ends the programs that it needs. `short`: with fewer events and less time, for
   * .ci/run. `outbox`: if the same is shown with each server, on this one alone.
   */
  prove(options: { readonly short: boolean; readonly outbox?: Kind | undefined }): Promise<readonly Figure[]>;
}

/** A measurement and its bound. A measurement without a bound is only printed. */
export interface Figure {
  readonly what: string;
  readonly measured: number;
  readonly unit?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

type Row = readonly [what: string, measured: number, bound?: Omit<Figure, "what" | "measured">];

/** Figures of one thing. */
export function figuresOf(name: string, ...rows: readonly Row[]): Figure[] {
  return rows.map(([what, measured, bound]) => ({ what: `${name}: ${what}`, measured, ...bound }));
}

/** Whether it keeps to its bounds. */
export function holds({ measured, atLeast = -Infinity, atMost = Infinity }: Figure): boolean {
  return measured >= atLeast && measured <= atMost;
}

/** The cells of a figure's row: what, the measurement, its bound, whether it was missed. */
export function figureRow(figure: Figure): readonly string[] {
  const { what, measured, unit } = figure;
  return [
    `  ${what}`,
    `${measured}${unit ? ` ${unit}` : ""}`,
    boundOf(figure),
    holds(figure) ? "" : "MISSED",
  ];
}

function boundOf({ atLeast, atMost }: Figure): string {
  if (atLeast !== undefined && atLeast === atMost) return `exactly ${atLeast}`;
  return [
    atLeast === undefined ? [] : `at least ${atLeast}`,
    atMost === undefined ? [] : `at most ${atMost}`,
  ].join(" ");
}
