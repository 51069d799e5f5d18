import type { Cell } from "./table.js";

/** The aims and what was measured. A missed aim is shown, and fails nothing: machines differ. */
export function createAims() {
  const rows: Record<string, Cell>[] = [];

  function add(aim: string, word: string, bound: number, measured: number, isReached: boolean): void {
    const shown = (number: number) => Number(number.toFixed(2)).toLocaleString("en");
    rows.push({
      aim,
      bound: `${word} ${shown(bound)}`,
      measured: shown(measured),
      reached: isReached ? "yes" : "no",
    });
  }

  return {
    atLeast: (bound: number, measured: number, aim: string) =>
      add(aim, "at least", bound, measured, measured >= bound),
    atMost: (bound: number, measured: number, aim: string) =>
      add(aim, "at most", bound, measured, measured <= bound),
    rows: (): readonly Readonly<Record<string, Cell>>[] => rows,
  };
}
