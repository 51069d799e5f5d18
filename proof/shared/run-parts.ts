import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../test/helpers/docs/pages.js";

/** What a part showed, as lines to print, and whether it kept its bounds. */
export interface Shown {
  readonly lines: readonly string[];
  readonly kept: boolean;
}

/** The names of the parts of a proof: of the files in proof/FOLDER/. */
export function partsOf(folder: string): string[] {
  return readdirSync(join(root, "proof", folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map(({ name }) => name.replace(/\.ts$/, ""));
}

/**
 * Runs the parts of a proof that are named, or all: each is the default export of a file in
 * proof/FOLDER/. Prints what each shows. Exits with 1 if a name is unknown, if a part throws, if a
 * bound was missed, or when the time is up.
 *
 * @param limitMs how long all parts together may take. Default: as long as they need.
 */
export async function runParts<Part extends { readonly title: string }>(
  folder: string,
  names: readonly string[],
  prove: (part: Part, name: string) => Promise<Shown>,
  { limitMs }: { readonly limitMs?: number } = {},
): Promise<never> {
  const known = partsOf(folder);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`no part is named ${unknown}; there are ${known.join(", ")}`);
    process.exit(1);
  }
  const missed: string[] = [];
  const left = [...(names.length > 0 ? names : known)];
  if (limitMs !== undefined) {
    setTimeout(() => {
      const failed = missed.length > 0 ? `; failed: ${missed.join(", ")}` : "";
      console.error(`\nthe time is up; not walked: ${left.join(", ")}${failed}`);
      process.exit(1);
    }, limitMs);
  }
  while (left.length > 0) {
    const name = left[0] as string;
    let title = `\n${name}`;
    try {
      const part: Part = (await import(new URL(`${folder}/${name}.js`, import.meta.url).href)).default;
      title += `: ${part.title}`;
      const { lines, kept } = await prove(part, name);
      // In one piece: two proofs may run side by side.
      console.log([title, ...lines].join("\n"));
      if (!kept) missed.push(name);
    } catch (error) {
      console.error(title, error);
      missed.push(name);
    }
    left.shift();
  }
  console.log(missed.length === 0 ? "\nall bounds are kept" : `\nfailed: ${missed.join(", ")}`);
  process.exit(missed.length === 0 ? 0 : 1);
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
