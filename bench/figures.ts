import { rowsOf } from "../test/helpers/docs/results.js";

/** A number, or several, in a table of the results. */
interface Cell {
  /** The table's heading. */
  readonly of: string;
  readonly column: string;
  /** The rows that have these texts. */
  readonly like: Readonly<Record<string, string>>;
}

interface Figure extends Cell {
  readonly name: string;
  readonly is: string;
  show(numbers: readonly number[]): string;
}

/** What a run should reach. A missed aim is shown, and fails nothing: machines differ. */
interface Aim extends Cell {
  readonly aim: string;
  /** What is taken off first. */
  readonly above?: Cell;
  readonly atLeast?: number;
  readonly atMost?: number;
}

const twoDigits = (number = Number.NaN) => Number(number.toPrecision(2)).toLocaleString("en");
const micros = ([number]: readonly number[]) => `${twoDigits(number)} µs`;
const millis = ([number]: readonly number[]) => `${twoDigits(number)} ms`;
const megabytes = ([number]: readonly number[]) => `${twoDigits(number)} MB`;
const whole = ([number]: readonly number[]) => twoDigits(number);
const percent = ([share = Number.NaN]: readonly number[]) => `${Math.round(100 * share)} %`;

const start = { outbox: "disk above memory" };

/** Every measured figure on a page is one of these, and links to it. */
const FIGURES: readonly Figure[] = [
  ...(["memory", "disk"] as const).flatMap((outbox): Figure[] => [
    {
      name: `request-${outbox}`,
      is: `main thread for all of a tracked request, its delivery included, ${outbox}`,
      ...{ of: "A tracked request", column: "healthy, µs above", like: { way: outbox }, show: micros },
    },
    {
      name: `backlog-${outbox}`,
      is: `events delivered in a second, if the service answers at once, ${outbox}`,
      ...{ of: "Delivering", column: "events/s", like: { carrier: outbox }, show: whole },
    },
    ...["20", "5"].map(
      (ms): Figure => ({
        name: `answers-${ms}-ms-${outbox}`,
        is: `rate of payments, if the service answers in ${ms} ms, of bare undici's, ${outbox}`,
        ...{ of: "Answers", column: "of undici", show: percent },
        like: { answers: `in ${ms} ms`, carrier: outbox },
      }),
    ),
    {
      name: `at-once-${outbox}`,
      is: `rate of a backlog, if the service answers at once, of bare undici's, ${outbox}`,
      ...{ of: "Delivering", column: "of undici", like: { carrier: outbox }, show: percent },
    },
  ]),
  {
    name: "thread-memory",
    is: "memory of the disk outbox's thread",
    ...{ of: "Starting", column: "MB of RSS", like: start, show: megabytes },
  },
  {
    name: "thread-start",
    is: "what the disk outbox adds until the first receipt of a process",
    ...{ of: "Starting", column: "ms until the first receipt", like: start, show: millis },
  },
];

const bareUndici: Cell = { of: "A tracked request", column: "healthy, µs above", like: { way: "undici" } };

const rates = (
  of: string,
  what: string,
  rows: readonly (readonly [ms: string, outbox: string, carrier: string, atLeast: number])[],
) =>
  rows.map(
    ([ms, outbox, carrier, atLeast]): Aim => ({
      aim: `${what}, answers in ${ms}, ${outbox}: rate, of bare undici's`,
      ...{ of, column: "of undici", like: { answers: `in ${ms}`, carrier }, atLeast },
    }),
  );
const backlog = (carrier: string, atLeast: number): Aim => ({
  aim: `a backlog, answers at once, ${carrier}: rate, of bare undici's`,
  ...{ of: "Delivering", column: "of undici", like: { carrier }, atLeast },
});
const request = (way: string, atMost: number): Aim => ({
  aim: `a tracked request, ${way}: µs of main thread, above a host that sends with bare undici`,
  ...{ ...bareUndici, like: { way }, above: bareUndici, atMost },
});
const startUp = (what: string, column: string, atMost: number): Aim => ({
  aim: `start of the disk outbox: ${what}, above the memory outbox's`,
  ...{ of: "Starting", column, like: start, atMost },
});

const AIMS: readonly Aim[] = [
  ...rates("Answers", "payments", [
    ["20 ms", "memory", "memory", 0.98],
    ["20 ms", "disk", "disk", 0.9],
    ["5 ms", "memory", "memory", 0.95],
    ["5 ms", "disk", "disk", 0.78],
  ]),
  ...rates("A burst in a new process", "a burst in a new process", [
    ["20 ms", "memory", "memory", 0.96],
    ["20 ms", "disk", "disk, storing", 0.88],
    ["5 ms", "memory", "memory", 0.92],
    ["5 ms", "disk", "disk, storing", 0.72],
  ]),
  backlog("memory", 0.5),
  backlog("disk", 0.14),
  request("memory", 90),
  request("disk", 110),
  startUp("ms to the first receipt", "ms until the first receipt", 150),
  startUp("MB", "MB of RSS", 20),
];

/** Each figure as pages show it, by its name. */
export function figuresIn(results: string): ReadonlyMap<string, { shown: string; is: string; of: string }> {
  return new Map(
    FIGURES.map(({ name, is, show, ...cell }) => {
      const shown = show(numbersIn(results, cell));
      return [name, { shown, is, of: cell.of }];
    }),
  );
}

/** Each aim with its bound, what was measured, and whether that reaches it. */
export function aimsIn(results: string) {
  return AIMS.map(({ aim, above, atLeast = Number.NEGATIVE_INFINITY, atMost, ...cell }) => {
    const [number = Number.NaN] = numbersIn(results, cell);
    const [base = 0] = above ? numbersIn(results, above) : [];
    const measured = Math.round(100 * (number - base)) / 100;
    return {
      aim,
      bound: atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`,
      measured: `${measured}`,
      reached:
        measured >= atLeast && measured <= (atMost ?? Number.POSITIVE_INFINITY) ? "yes" : "not reached",
    };
  });
}

function numbersIn(results: string, { of, column, like }: Cell): number[] {
  const rows = rowsOf(results, of);
  const found = rows.filter((row) => Object.entries(like).every(([name, value]) => row[name] === value));
  const numbers = found.map((row) => Number(row[column]?.replaceAll(",", "")));
  if (numbers.length === 0 || numbers.some(Number.isNaN)) throw new Error(`no ${column} of ${of}`);
  return numbers;
}
