import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../../..");

/** A block of code in a page, as a reader would copy it. */
export interface Block {
  /** `docs/attribution.md`. */
  readonly page: string;
  /** The heading it stands under. */
  readonly heading: string;
  /** The line of the page on which its code begins. */
  readonly line: number;
  /** What follows the fence: `js`, `ts`, `js file=shop.js`. */
  readonly info: string;
  readonly code: string;
}

/** The pages that people read, from the root of the repository. */
export const pages: readonly string[] = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md") || name === "llms.txt")
    .sort()
    .map((name) => `docs/${name}`),
];

export const textOf = (page: string): string => readFileSync(join(root, page), "utf8");

/** All blocks of a page, whatever their language. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { fence: string; indent: number; info: string; line: number; code: string[] } | undefined;
  for (const [index, line] of textOf(page).split("\n").entries()) {
    const [, indent = "", fence, info = ""] = /^( *)(`{3,})(.*)$/.exec(line) ?? [];
    if (open && fence === open.fence && info === "") {
      blocks.push({ page, heading, line: open.line, info: open.info, code: `${open.code.join("\n")}\n` });
      open = undefined;
    } else if (open) {
      open.code.push(line.slice(open.indent));
    } else if (fence !== undefined) {
      open = { fence, indent: indent.length, info: info.trim(), line: index + 2, code: [] };
    } else {
      heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
    }
  }
  return blocks;
}

/** Whether it is code of this package's language. */
export const isCode = ({ info }: Block): boolean => /^(js|ts|javascript|typescript)\b/.test(info);

/**
 * The file that the block is a part of, and which part:
 * `from=test/frameworks/passport/app.js#mount` in its info string.
 */
export function recipeOf({ info }: Block): { file: string; region: string | undefined } | undefined {
  const [, file, region] = /\bfrom=([^\s#]+)(?:#(\S+))?/.exec(info) ?? [];
  return file === undefined ? undefined : { file, region };
}

/** A file's text, or the lines between `// #region name` and `// #endregion` in it. */
export function partOf(file: string, region?: string): string | undefined {
  const lines = textOf(file).split("\n");
  if (region === undefined) return lines.join("\n");
  const begin = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  if (begin === -1) return undefined;
  const part = lines.slice(
    begin + 1,
    begin + lines.slice(begin).findIndex((line) => /^ *\/\/ #endregion$/.test(line)),
  );
  const indent = lines[begin]?.search(/\S/) ?? 0;
  return `${part.map((line) => line.slice(indent)).join("\n")}\n`;
}

/** Where a page's relative links lead, as they are written. */
export function linksOf(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors that GitHub gives to a page's headings, and those that the page itself has. */
export function anchorsOf(page: string): string[] {
  const prose = proseOf(page);
  const ofHeadings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return [...ofHeadings, ...[...prose.matchAll(/<a id="([\w-]+)">/g)].map(([, id = ""]) => id)];
}

/** Without its blocks of code. */
export const proseOf = (page: string) => textOf(page).replaceAll(/^ *(`{3,}).*\n(?:.*\n)*? *\1$/gm, "");

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
