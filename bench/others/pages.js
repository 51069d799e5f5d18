import { readFileSync, writeFileSync } from "node:fs";
import { adapters } from "./adapters/index.js";
import none from "./adapters/none.js";
import { readResults } from "./results.js";
import { scenarios } from "./scenarios.js";

const at = (path) => new URL(`../../${path}`, import.meta.url);
const BEGIN = "<!-- begin: from bench/others/results by `npm run bench others` -->";
const END = "<!-- end: from bench/others/results -->";
const SHORT = ["fetch", "segment", "posthog", "memory", "disk"];
/** The rows of README.md. Each stands alone, so a title that leans on the row above has another one here. */
const SHORT_ROWS = {
  down: undefined,
  silent: undefined,
  lose: undefined,
  "deploy-down": "host deployed, service down",
  "kill-down": "host killed (`kill -9`), service down",
  reload: undefined,
};

/**
 * The pages that show the last results, and what puts them there.
 *
 * @type {[string, (page: string, results: any) => string][]}
 */
export const PAGES = [
  ["README.md", withShort],
  ["docs/compare.md", withWhole],
  ["bench/results/others.md", withTimes],
];

export function writePages() {
  const results = readResults();
  for (const [path, withTables] of PAGES)
    writeFileSync(at(path), withTables(readFileSync(at(path), "utf8"), results));
}

/** README.md with its table: what became of the payments in the scenarios that decide. */
export function withShort(page, { measuredOn, outcomes }) {
  const columns = adapters.filter(({ name }) => SHORT.includes(name));
  const head = [`of ${number(measuredOn.payments)} payments`, ...columns.map(({ title }) => title)];
  const rows = scenarios
    .filter(({ name }) => name in SHORT_ROWS)
    .map(({ name, title }) => ({ name, title: SHORT_ROWS[name] ?? title }));
  return between(page, tableOf(head, columns, rows, outcomes, fate));
}

/** docs/compare.md: what became of the payments, and the costs. */
export function withWhole(page, { measuredOn, outcomes, costs }) {
  const parts = [
    circumstances(measuredOn),
    answered(FATE, outcomes),
    section(
      "What does it cost the host?",
      `The heap is the main thread's: BullMQ's events wait in Redis, those of our disk outbox in a file. From Node 22.13 on, our disk outbox takes ${megabytes(costs.disk.bytesOnDisk - costs.memory.bytesOnDisk)} MB less.`,
      table(
        COSTS,
        [none, ...adapters].map((adapter) => costRow(adapter, costs)),
      ),
    ),
  ];
  return between(page, parts.join("\n\n"));
}

/** bench/results/others.md: how each was set up, and how long it took in each scenario. */
export function withTimes(page, { measuredOn, outcomes }) {
  const setUp = section(
    "How was each set up?",
    "Versions: `bench/others/package.json`. Nothing else is set.",
    table(
      ["its documentation", "set-up"],
      adapters.map(({ title, setUp, follows }) => [linked(title, follows), setUp]),
    ),
  );
  const parts = [circumstances(measuredOn), setUp, ...TIMES.map((time) => answered(time, outcomes))];
  return between(page, parts.join("\n\n"));
}

const circumstances = ({ node, cores, payments, inMs }) =>
  `${number(payments)} payments in ${inMs / 1_000} s, on Node ${node} and ${cores} cores that other work shared. The figures promise nothing.`;

function answered({ question, explained, answer }, outcomes) {
  const head = ["", ...adapters.map(({ title }) => title)];
  return section(question, explained(outcomes), tableOf(head, adapters, scenarios, outcomes, answer));
}

/** A row for each scenario, a column for each adapter. */
function tableOf(head, columns, acts, outcomes, answer) {
  const rows = acts.map(({ name, title }) => [
    title,
    ...columns.map((adapter) => answer(outcomes[name][adapter.name])),
  ]);
  return table(head, rows);
}

/** `5 missing, 2 held`, or `all once`. An asterisk: each repetition has the first one's id. */
function fate({ happened, arrived, held, twice, repeatedKeys }) {
  const marked = repeatedKeys === twice ? "*" : "";
  const words = [
    ...counted(happened - arrived - held, "missing"),
    ...counted(held, "held"),
    ...counted(twice, `repeated${marked}`),
  ];
  return words.join(", ") || "all once";
}

function fateAndOrder(outcome) {
  const words = [...counted(outcome.outOfOrder, "late")];
  const what = fate(outcome);
  if (what === "all once") return words[0] ?? "✓";
  return [what, ...words].join(", ");
}

const counted = (count, word) => (count > 0 ? [`${number(count)} ${word}`] : []);

const FATE = {
  question: "What became of the payments?",
  explained: (outcomes) =>
    [
      "Of those whose checkout succeeded. ✓: each arrived once, in order. *Missing*: not there when nothing had come for 70 s. *Held*: given up, and an operator can send it: our dead letters, BullMQ's failed jobs. *Repeated*: arrived again; with an asterisk, with the same id, by which Segment's and PostHog's services drop it. *Late*: after a later payment of that visitor, who pays once a second.",
      ...lostByKill(outcomes),
    ].join("\n\n"),
  answer: fateAndOrder,
};

const TIMES = [
  {
    question: "When did the last one arrive?",
    explained: () => "Seconds after the last visitor had come and the service was well.",
    answer: ({ lastMs }) => (lastMs / 1_000).toFixed(1),
  },
  {
    question: "What did the visitor wait?",
    explained: () =>
      "Milliseconds: the median/the 99th percentile, and how many failed: an error, or no answer within a minute.",
    answer: ({ visitors: { p50, p99, failed } }) =>
      [`${number(p50)}/${number(p99)}`, ...(failed > 0 ? [number(failed)] : [])].join(", "),
  },
];

/** What a kill cost those that keep payments outside the process: how close to it the visitors had their answer. */
function lostByKill(outcomes) {
  const lost = adapters
    .filter(({ isDurable }) => isDurable)
    .flatMap(({ name, title }) => {
      const found = scenarios.flatMap((scenario) => outcomes[scenario.name][name].answeredMs ?? []);
      if (found.length === 0) return [];
      const most = Math.max(...found.flatMap(({ first, last }) => [Math.abs(first), Math.abs(last)]));
      return [`${number(most)} ms (${title})`];
    });
  if (lost.length === 0) return [];
  return [
    `\`kill -9\` loses payments that were answered and not stored yet: within ${lost.join(", ")} of the kill. None is lost if the shop [awaits](#what-would-a-setting-change) the receipt.`,
  ];
}

const COSTS = [
  "",
  "main thread, µs a request",
  "service down",
  "successes a second, saturated",
  "service down",
  "heap, bytes an event that waits",
  "`import`, ms",
  "with dependencies, MB",
];

function costRow({ name, title }, costs) {
  const { healthy, refusing, heapPerEvent, importMs, bytesOnDisk } = costs[name];
  return [
    title,
    number(healthy.mainThreadMicros),
    number(refusing.mainThreadMicros),
    number(healthy.perSecond),
    number(refusing.perSecond),
    heapPerEvent === null ? "–" : number(heapPerEvent),
    number(importMs),
    megabytes(bytesOnDisk),
  ];
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

function section(heading, text, rows) {
  return `## ${heading}\n\n${text}\n\n${rows}`;
}

/** The title leads to the first page, numbers to the others. */
function linked(title, pages) {
  return pages
    .map((page, nth) => `[${nth === 0 ? title : nth + 1}](${page.replace(/^docs\//, "../../docs/")})`)
    .join(", ");
}

function table(head, rows) {
  const lineOf = (cells) => `| ${cells.join(" | ")} |`;
  return [lineOf(head), lineOf(head.map(() => "---")), ...rows.map(lineOf)].join("\n");
}

function number(value) {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function between(page, text) {
  const [before, rest = ""] = page.split(BEGIN);
  const [, after] = rest.split(END);
  if (after === undefined) throw new Error(`a page must have "${BEGIN}" and "${END}"`);
  return `${before}${BEGIN}\n\n${text}\n\n${END}${after}`;
}
