import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { aimsIn, figuresIn } from "./figures.js";
import { tableOf } from "./table.js";

const RESULTS = "bench/results/node-20.md";
const FIGURES = "bench/results/figures.md";

/** The pages whose measured figures are the last run's. */
export const PAGES: readonly string[] = [
  "README.md",
  "bench/README.md",
  "bench/results/README.md",
  ...readdirSync("docs")
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** Puts the last results into bench/results/figures.md, and each figure into the pages that have it. */
export function writeFigures(): void {
  const results = readResults();
  writeFileSync(FIGURES, figuresPage(results));
  for (const page of PAGES) writeFileSync(page, withFigures(readFileSync(page, "utf8"), results));
}

export const readResults = (): string => readFileSync(RESULTS, "utf8");

/** bench/results/figures.md. */
export function figuresPage(results: string): string {
  const [, , machine = ""] = results.split("\n");
  const figures = [...figuresIn(results)].map(([name, { shown, is, of }]) => ({
    name: `<a id="${name}"></a>${name}`,
    figure: shown,
    "what it is": is,
    table: of,
  }));
  return `# Figures and aims

Written by \`npm run bench\` from the tables of its last run, [node-20.md](node-20.md). Each measured figure on a page is one of these, and links to it.

${machine}

## Figures

${tableOf(figures)}

## Aims

${tableOf(aimsIn(results))}
`;
}

/** The page with the figures of these results: `[11 µs](…/figures.md#report-memory)`. */
export function withFigures(page: string, results: string): string {
  const figures = figuresIn(results);
  return page.replaceAll(/\[[^\][]*\]\(([^()\s]*figures\.md#([\w-]+))\)/g, (_all, target, name) => {
    const figure = figures.get(name);
    if (!figure) throw new Error(`there is no figure \`${name}\``);
    return `[${figure.shown}](${target})`;
  });
}
