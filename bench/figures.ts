import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rowsOf } from "../test/helpers/docs/pages.js";
import { tableOf } from "./table.js";

const RESULTS = "bench/results/node-20.md";
const FIGURES_PAGE = "bench/results/figures.md";

type Row = Readonly<Record<string, string>>;

/** A number in a table of the results. */
interface Figure {
  readonly name: string;
  readonly is: string;
  /** The table's heading. */
  readonly of: string;
  readonly column: string;
  /** The row that has these texts. */
  readonly like: Row;
  /** The row whose number is taken off first. */
  readonly above?: Row;
  readonly show: (number: number) => string;
  /** What a run should reach. A missed aim is shown, and fails nothing: machines differ. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

const twoDigits = (number: number) => Number(number.toPrecision(2)).toLocaleString("en");
const micros = (number: number) => `${twoDigits(number)} µs`;
const millis = (number: number) => `${twoDigits(number)} ms`;
const megabytes = (number: number) => `${twoDigits(number)} MB`;
const percent = (share: number) => `${Math.round(100 * share)} %`;

/** The rates of payments that bare undici's are compared with. */
const RATES: readonly (readonly [name: string, of: string, answers: string, carrier: string, number])[] = [
  ["answers-20-ms-memory", "Answers", "in 20 ms", "memory", 0.98],
  ["answers-20-ms-disk", "Answers", "in 20 ms", "disk", 0.9],
  ["answers-5-ms-memory", "Answers", "in 5 ms", "memory", 0.95],
  ["answers-5-ms-disk", "Answers", "in 5 ms", "disk", 0.78],
  ["burst-20-ms-memory", "A burst in a new process", "in 20 ms", "memory", 0.96],
  ["burst-20-ms-disk", "A burst in a new process", "in 20 ms", "disk, storing", 0.88],
  ["burst-5-ms-memory", "A burst in a new process", "in 5 ms", "memory", 0.92],
  ["burst-5-ms-disk", "A burst in a new process", "in 5 ms", "disk, storing", 0.72],
  ["at-once-memory", "Delivering", "at once", "memory", 0.5],
  ["at-once-disk", "Delivering", "at once", "disk", 0.14],
];

const tracked = { of: "A tracked request", column: "healthy, µs above", show: micros };
const starting = { of: "Starting", like: { outbox: "disk above memory" } };

/** Every measured figure on a page is one of these, and links to it. */
const FIGURES: readonly Figure[] = [
  ...RATES.map(([name, of, answers, carrier, atLeast]) => ({
    name,
    is: `rate, as a share of bare undici's, if the service answers ${answers}, ${carrier}`,
    ...{ of, column: "of undici", like: { answers, carrier }, show: percent, atLeast },
  })),
  ...["memory", "disk"].flatMap((outbox): Figure[] => [
    {
      name: `backlog-${outbox}`,
      is: `events delivered in a second, if the service answers at once, ${outbox}`,
      ...{ of: "Delivering", column: "events/s", like: { carrier: outbox }, show: twoDigits },
    },
    {
      name: `request-${outbox}`,
      is: `main thread for all of a tracked request, its delivery included, ${outbox}`,
      ...{ ...tracked, like: { way: outbox } },
    },
    {
      name: `request-above-undici-${outbox}`,
      is: `the same, above a host that sends with bare undici, ${outbox}`,
      ...{ ...tracked, like: { way: outbox }, above: { way: "undici" } },
      atMost: outbox === "memory" ? 90 : 110,
    },
  ]),
  {
    name: "thread-memory",
    is: "memory of the disk outbox's thread",
    ...{ ...starting, column: "MB of RSS", show: megabytes, atMost: 20 },
  },
  {
    name: "thread-start",
    is: "what the disk outbox adds until the first receipt of a process",
    ...{ ...starting, column: "ms until the first receipt", show: millis, atMost: 150 },
  },
];

/** The rows of bench/results/figures.md. */
export function figuresIn(results: string) {
  return FIGURES.map(({ name, is, of, column, like, above, show, atLeast, atMost }) => {
    const number = numberIn(results, of, column, like) - (above ? numberIn(results, of, column, above) : 0);
    const isReached = number >= (atLeast ?? number) && number <= (atMost ?? number);
    const aims = [
      ...(atLeast === undefined ? [] : [`at least ${show(atLeast)}`]),
      ...(atMost === undefined ? [] : [`at most ${show(atMost)}`]),
    ];
    return {
      ...{ name, figure: show(number), "what it is": is, aim: aims.join() },
      ...{ reached: aims.length === 0 ? "" : isReached ? "yes" : "not reached", table: of },
    };
  });
}

function numberIn(results: string, of: string, column: string, like: Row): number {
  const isLike = (row: Row) => Object.entries(like).every(([name, value]) => row[name] === value);
  const [row, ...others] = rowsOf(results, of).filter(isLike);
  const number = Number(row?.[column]?.replaceAll(",", ""));
  if (others.length > 0 || Number.isNaN(number)) throw new Error(`no ${column} of ${of}`);
  return number;
}

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
  writeFileSync(FIGURES_PAGE, figuresPage(results));
  for (const page of PAGES) writeFileSync(page, withFigures(readFileSync(page, "utf8"), results));
}

export const readResults = (): string => readFileSync(RESULTS, "utf8");

/** bench/results/figures.md. */
export function figuresPage(results: string): string {
  const [, , machine = ""] = results.split("\n");
  return `# Figures and aims

Written by \`npm run bench\` from the tables of its last run, [node-20.md](node-20.md). Each measured figure on a page is one of these, and links to it.

${machine}

${tableOf(figuresIn(results).map((row) => ({ ...row, name: `<a id="${row.name}"></a>${row.name}` })))}
`;
}

/** The page with the figures of these results: `[11 µs](…/figures.md#report-memory)`. */
export function withFigures(page: string, results: string): string {
  const figures = figuresIn(results);
  return page.replaceAll(/\[[^\][]*\]\(([^()\s]*figures\.md#([\w-]+))\)/g, (_all, target, name) => {
    const row = figures.find((each) => each.name === name);
    if (!row) throw new Error(`there is no figure \`${name}\``);
    return `[${row.figure}](${target})`;
  });
}
