import { readFileSync, writeFileSync } from "node:fs";
import { adapters } from "./adapters/index.js";
import none from "./adapters/none.js";
import { readResults } from "./results.js";
import { scenarios } from "./scenarios.js";

const at = (path) => new URL(`../../${path}`, import.meta.url);
const BEGIN = "<!-- begin: from bench/others/results by `npm run bench others` -->";
const END = "<!-- end: from bench/others/results -->";
const SHORT = ["fetch", "segment", "posthog", "disk"];

/** Puts the last results into README.md and docs/compare.md. */
export function writePages() {
  const results = readResults();
  for (const [path, withTables] of [
    ["README.md", withShort],
    ["docs/compare.md", withWhole],
  ]) {
    writeFileSync(at(path), withTables(readFileSync(at(path), "utf8"), results));
  }
}

/** README.md with its table: what became of the payments in each scenario. */
export function withShort(page, { measuredOn, outcomes }) {
  const columns = adapters.filter(({ name }) => SHORT.includes(name));
  const head = [`of ${number(measuredOn.payments)} payments`, ...columns.map(({ title }) => title)];
  const rows = scenarios.map(({ name, title }) => [
    title,
    ...columns.map((each) => short(outcomes[name][each.name])),
  ]);
  return between(page, table(head, rows));
}

function short({ happened, arrived, held, twice }) {
  const missing = happened - arrived - held;
  const said = { missing, held, repeated: twice };
  const words = Object.entries(said).flatMap(([word, count]) =>
    count > 0 ? `${number(count)} ${word}` : [],
  );
  return words.join(", ") || "all once";
}

/** docs/compare.md with everything: a table for each question, the costs, and how each was set up. */
export function withWhole(page, { measuredOn, outcomes, costs }) {
  const { node, cores, payments, inMs } = measuredOn;
  const parts = [
    `${number(payments)} payments in ${inMs / 1_000} s. Measured with Node ${node} on ${cores} cores, which the visitors, the shop, the service and other work shared: the figures compare, they promise nothing.`,
    ...QUESTIONS.map(({ question, explained, answer }) => {
      const rows = scenarios.map(({ name, title }) => [
        title,
        ...adapters.map((adapter) => answer(outcomes[name][adapter.name])),
      ]);
      return section(question, explained, ["", ...adapters.map(({ title }) => title)], rows);
    }),
    section(
      "What does it cost the host?",
      COSTS_EXPLAINED,
      COSTS,
      [none, ...adapters].map((adapter) => costRow(adapter, costs)),
    ),
    section(
      "How was each set up?",
      "With the version in `bench/others/package.json`, and nothing that is not named here.",
      ["", "set up", "as documented in"],
      adapters.map(({ title, setUp, follows }) => [title, setUp, follows.map(link).join(", ")]),
    ),
  ];
  return between(page, parts.join("\n\n"));
}

const QUESTIONS = [
  {
    question: "How many payments are missing?",
    explained:
      "Of those whose visitor was told that the checkout succeeded, up to three minutes later. *Held*: an operator can still send them. They are this package's dead letters, and BullMQ's failed jobs.",
    answer: ({ happened, arrived, held }) => {
      const missing = happened - arrived;
      return held > 0
        ? `${number(missing)}, ${held === missing ? "all" : number(held)} held`
        : number(missing);
    },
  },
  {
    question: "How many came again?",
    explained:
      "*With its id*: the repetition has the id of the first, so that a service that looks at ids can drop it. Segment's and PostHog's do.",
    answer: ({ twice, repeatedKeys }) =>
      repeatedKeys > 0
        ? `${number(twice)}, ${repeatedKeys === twice ? "all" : number(repeatedKeys)} with its id`
        : number(twice),
  },
  {
    question: "How many came after a later payment of the same visitor?",
    explained: "Each visitor pays once a second.",
    answer: ({ outOfOrder }) => number(outOfOrder),
  },
  {
    question: "When did the last one come?",
    explained: "Seconds after the last visitor, and after the service was well again.",
    answer: ({ lastMs }) => (lastMs / 1_000).toFixed(1),
  },
  {
    question: "What did the visitor wait?",
    explained:
      "Milliseconds, the median. *Failed*: the visitor got an error, or no answer within a minute. Several scenarios ran at a time on a busy machine: tens of milliseconds say nothing, and a busy shop fails some visitors when its process ends.",
    answer: ({ visitors: { p50, failed } }) =>
      `${number(p50)}${failed > 0 ? `, ${number(failed)} failed` : ""}`,
  },
];

const COSTS_EXPLAINED =
  "Measured one after the other. The heap is the main thread's: BullMQ's events wait in Redis, those of our disk outbox in a file.";
const COSTS = [
  "",
  "main thread a request, µs",
  "… service down",
  "requests a second that succeed",
  "… service down",
  "heap for an event that waits, bytes",
  "`import`, ms",
  "with its dependencies, MB on disk",
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
    (bytesOnDisk / 1e6).toFixed(1),
  ];
}

function section(heading, text, head, rows) {
  return `## ${heading}\n\n${text}\n\n${table(head, rows)}`;
}

function link(page) {
  if (page.startsWith("https:")) return `[${new URL(page).hostname}](${page})`;
  const path = page.startsWith("docs/") ? page.slice("docs/".length) : `../${page}`;
  return `[${page.split("#")[0]}](${path})`;
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
