/** The rows of the table under a heading, each by the names of its columns. */
export function rowsOf(page: string, heading: string): Record<string, string>[] {
  const [, section = ""] = page.split(`## ${heading}\n`);
  const lines = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("|"));
  const [names = [], , ...rows] = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return rows.map((row) => Object.fromEntries(names.map((name, nth) => [name, row[nth] ?? ""])));
}
