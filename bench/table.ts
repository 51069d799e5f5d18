export type Cell = string | number;

/** A page with a text between its two marks, in place of what stands there. */
export function between(page: string, [begin, end]: readonly [string, string], text: string): string {
  const [before, rest = ""] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`a page must have "${begin}" and "${end}"`);
  return `${before}${begin}\n\n${text}\n\n${end}${after}`;
}

/** Rows of the same columns as a table in Markdown, aligned for those who read it as it is. */
export function tableOf(rows: readonly Readonly<Record<string, Cell>>[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = [names, ...rows.map((row) => names.map((name) => `${row[name]}`))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const isNumber = (column: number) =>
    rows.every((row) => /^-?[\d.,]*$/.test(`${row[names[column] as string]}`));
  const lineOf = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (isNumber(column) ? cell.padStart(widths[column] as number) : cell.padEnd(widths[column] as number))).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    isNumber(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  return [lineOf(names), lineOf(rule), ...lines.slice(1).map(lineOf)].join("\n");
}
