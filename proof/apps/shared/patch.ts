import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { root } from "../../../test/helpers/docs/pages.js";

/** One change of a file. */
type Change =
  /** Lines that are inserted below or above the line that contains a text. */
  | { readonly below: string; readonly add: string }
  | { readonly above: string; readonly add: string }
  /** A text that is replaced. */
  | { readonly replace: string; readonly by: string };

/** One change of an app's files. */
export type Edit =
  /** A file of proof/apps/patches/ that is copied to this path of the app. */
  { readonly copy: string; readonly to: string } | ({ readonly file: string } & Change);

/** Changes of one file of the app. */
export function inFile(file: string, ...changes: readonly Change[]): Edit[] {
  return changes.map((change) => ({ file, ...change }));
}

/** The most lines that a patch may have. */
export const MOST_LINES = 40;

/** How many lines of code a patch writes. Blank lines do not count. */
export function linesOf(patch: readonly Edit[]): number {
  const texts = patch.map((edit) =>
    "copy" in edit ? textOf(edit.copy) : "add" in edit ? edit.add : changedLines(edit.replace, edit.by),
  );
  return texts.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "").length;
}

/** @throws if an app has no line with the text of an edit, or several. */
export async function applyPatch(patch: readonly Edit[], folder: string): Promise<void> {
  for (const edit of patch) {
    if ("copy" in edit) {
      const target = join(folder, edit.to);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, textOf(edit.copy));
      continue;
    }
    const path = join(folder, edit.file);
    const text = await readFile(path, "utf8");
    const wanted = "below" in edit ? edit.below : "above" in edit ? edit.above : edit.replace;
    const parts = text.split(wanted);
    if (parts.length !== 2) throw new Error(`${edit.file} has ${parts.length - 1} times: ${wanted}`);
    await writeFile(path, changed(text, edit));
  }
}

function changed(text: string, edit: Change): string {
  if ("replace" in edit) return text.replace(edit.replace, () => edit.by);
  const isBelow = "below" in edit;
  const at = text.indexOf(isBelow ? edit.below : edit.above);
  const lineEnd = text.indexOf("\n", at);
  const cut = isBelow ? (lineEnd === -1 ? text.length : lineEnd + 1) : text.lastIndexOf("\n", at) + 1;
  return `${text.slice(0, cut)}${edit.add}\n${text.slice(cut)}`;
}

function changedLines(before: string, after: string): string {
  const old = new Set(before.split("\n"));
  return after
    .split("\n")
    .filter((line) => !old.has(line))
    .join("\n");
}

function textOf(file: string): string {
  return readFileSync(join(root, "proof/apps/patches", file), "utf8");
}
