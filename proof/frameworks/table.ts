export interface Column {
  readonly express: number;
  readonly node: number;
}

/** Prints what became of each recipe in each column; a dash where a framework does not take that Express. */
export function printTable(
  names: readonly string[],
  columns: readonly Column[],
  cells: ReadonlyMap<string, string>,
): void {
  const rows = [
    ["", ...columns.map(({ express, node }) => `Express ${express}, Node ${node}`)],
    ...names.map((name) => [
      name,
      ...columns.map(({ express, node }) => cells.get(`${name} ${express} ${node}`) ?? "–"),
    ]),
  ];
  const widths = rows[0]?.map((_, nth) => Math.max(...rows.map((row) => row[nth]?.length ?? 0))) ?? [];
  console.log();
  for (const row of rows) {
    console.log(
      row
        .map((cell, nth) => cell.padEnd(widths[nth] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
  console.log();
}
