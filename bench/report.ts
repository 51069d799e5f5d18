import { type Cell, tableOf } from "./table.js";

export type Row = Readonly<Record<string, Cell>>;

/** What a run has found: printed as it is found, and kept for the file of results. */
export function createReport() {
  const lines: string[] = [];
  const began = performance.now();

  function print(text: string): void {
    lines.push(text);
    console.log(text);
  }

  /** Says on the error output what is measured now. */
  function progress(what: string): void {
    console.error(`${`${Math.round((performance.now() - began) / 1_000)}`.padStart(4)} s  ${what}`);
  }

  return {
    print,
    section(title: string, explanation: string, rows: readonly Row[]): void {
      print(`\n## ${title}\n\n${explanation}\n\n${tableOf(rows)}`);
    },
    progress,
    /** Measures something so many times. */
    async rounds<Measured>(
      number: number,
      what: string,
      measure: () => Promise<Measured>,
    ): Promise<Measured[]> {
      const measured: Measured[] = [];
      for (let nth = 1; nth <= number; nth++) {
        progress(`${what}, round ${nth} of ${number}`);
        measured.push(await measure());
      }
      return measured;
    },
    text: () => `${lines.join("\n")}\n`,
  };
}

export type Report = ReturnType<typeof createReport>;

/** What a section is given. */
export interface Bench {
  readonly report: Report;
  /** Only to see that everything runs: few rounds, few events. */
  readonly quick: boolean;
}

export const ratio = (number: number) => number.toFixed(2);
export const tenths = (number: number) => number.toFixed(1);
export const round = (number: number) => Math.round(number).toLocaleString("en");

/**
 * The middle one: a few that are out of the ordinary change nothing. Of an even number, the mean of
 * the two in the middle.
 */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (index: number) => sorted[Math.floor(index)] as number;
  const middle = (sorted.length - 1) / 2;
  return (at(middle) + at(middle + 0.5)) / 2;
}

/** The median of one column. */
export function medianOf<Row>(rows: readonly Row[], of: (row: Row, index: number) => number): number {
  return median(rows.map(of));
}
