export type Cell = string | number;

/** A page with a text between its two marks, in place of what stands there. */
export function between(page: string, [begin, end]: readonly [string, string], text: string): string {
  const [before, rest = ""] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`a page must have "${begin}" and "${end}"`);
  return `${before}${begin}\n\n${text}\n\n${end}${after}`;
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Rows of the same columns as such a table. */
export function tableOf(rows: readonly Readonly<Record<string, Cell>>[]): string {
  return table(Object.keys(rows[0] ?? {}), rows.map(Object.values));
}
