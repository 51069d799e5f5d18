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
 * proof/FOLDER/. Prints what each shows. Exits with 1 if a name is unknown, if a part throws, or if
 * a bound was missed.
 */
export async function runParts<Part extends { readonly title: string }>(
  folder: string,
  names: readonly string[],
  prove: (part: Part, name: string) => Promise<Shown>,
): Promise<never> {
  const known = partsOf(folder);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`no part is named ${unknown}; there are ${known.join(", ")}`);
    process.exit(1);
  }
  const missed: string[] = [];
  for (const name of names.length > 0 ? names : known) {
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
  }
  console.log(missed.length === 0 ? "\nall bounds are kept" : `\nfailed: ${missed.join(", ")}`);
  process.exit(missed.length === 0 ? 0 : 1);
}
