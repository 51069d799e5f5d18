import { readFileSync, writeFileSync } from "node:fs";
import { median } from "../report.ts";
import { between, table } from "../table.ts";
import { adapters, none } from "./adapters/index.js";
import { PER_SECOND } from "./costs.js";
import { readResults } from "./results.js";
import { scenarios } from "./scenarios.js";

const MARKS = [
  "<!-- begin: from bench/results/others-node-20.json by `npm run bench others` -->",
  "<!-- end: from bench/results/others-node-20.json -->",
];
/** The columns and the rows of README.md. */
const SHORT = ["fetch", "segment", "posthog", "memory", "disk", "postgres"];
const SHORT_ROWS = ["down", "silent", "deploy-down", "kill", "kill-down", "reload"];
/** Below the scenario in which ours take longest. */
const AFTER_SILENCE = { name: "silent", title: "until the last came, after that silence", answer: untilLast };
/** What these have not sent waits for a person to decide. The others have given it up. */
const HOLD = ["memory", "disk", "postgres"];
/** Of a scenario in which each payment arrived once, in order. */
const WELL = "✓";

/**
 * The pages that show the last results, and what puts them there.
 *
 * @type {[string, (page: string, results: any) => string][]}
 */
export const PAGES = [
  ["README.md", withShort],
  ["docs/compare.md", withAll],
  ["bench/results/others.md", withTimes],
];

export function writePages() {
  const results = readResults();
  for (const [path, withTables] of PAGES)
    writeFileSync(path, withTables(readFileSync(path, "utf8"), results));
}

/** README.md with its table: what became of the payments in the scenarios that decide. */
function withShort(page, { measuredOn, outcomes }) {
  const columns = adapters.filter(({ name }) => SHORT.includes(name));
  const rows = scenarios.filter(({ name }) => SHORT_ROWS.includes(name));
  const corner = `of ${number(measuredOn.payments)} payments`;
  return between(page, MARKS, byScenario(outcomes, fate, { corner, rows, columns }));
}

/** docs/compare.md: what became of the payments, and what it cost the host. */
function withAll(page, { measuredOn, outcomes, costs }) {
  const rows = scenarios.flatMap((each) =>
    each.name === AFTER_SILENCE.name ? [each, AFTER_SILENCE] : [each],
  );
  const fates = byScenario(outcomes, fateAndOrder, { rows });
  const words = FATES.filter(([word]) => fates.includes(word)).map(([, meaning]) => meaning);
  const parts = [
    circumstances(measuredOn),
    section("What became of the payments?", words.join(" "), fates),
    section(
      "What does it cost the host?",
      `One package at a time, at ${PER_SECOND} requests a second. The first three columns are ratios to the shop without tracking in the same round: the median round; beside the first, its milliseconds. "–": its rounds differed by more than a third. From Node 22.13 on, our disk outbox takes ${megabytes(costs.disk.bytesOnDisk - costs.memory.bytesOnDisk)} MB less.`,
      table(
        ["", ...Object.keys(COSTS)],
        [none, ...adapters]
          .filter(({ name }) => costs[name])
          .map(({ name, title }) => [title, ...Object.values(COSTS).map((show) => show(costs[name]))]),
      ),
    ),
  ];
  return between(page, MARKS, parts.join("\n\n"));
}

/** bench/results/others.md: set-ups and times. */
function withTimes(page, { measuredOn, outcomes }) {
  const setUps = adapters.map(({ title, setUp, follows }) => [linked(title, follows), setUp]);
  const parts = [
    circumstances(measuredOn),
    section(
      "How was each set up?",
      "Versions: `bench/others/package.json`. Nothing else is set.",
      table(["its documentation", "set-up"], setUps),
    ),
    section(
      "When did the last one arrive?",
      "Seconds after the last visitor had come and the service was well.",
      byScenario(outcomes, ({ lastMs }) => (lastMs / 1_000).toFixed(1)),
    ),
  ];
  return between(page, MARKS, parts.join("\n\n"));
}

const circumstances = ({ node, cores, payments, inMs }) =>
  `${number(payments)} payments in ${inMs / 1_000} s, on Node ${node} and ${cores} cores that the shop, its visitors and the service share.`;

/** A row for each scenario, a column for each adapter. A row may have an `answer` of its own. */
function byScenario(outcomes, answer, { corner = "", rows = scenarios, columns = adapters } = {}) {
  return table(
    [corner, ...columns.map(({ title }) => title)],
    rows.map(({ name, title, answer: ofRow = answer }) => [
      title,
      ...columns.map((adapter) => ofRow(outcomes[name][adapter.name], adapter)),
    ]),
  );
}

/** `5 missing, 2 held`, or `all once`. */
function fate({ happened, arrived, held, twice, repeatedKeys }, { name, dropsKnown = false }) {
  const words = [
    ...counted(happened - arrived - held, "missing"),
    ...counted(held, HOLD.includes(name) ? "held" : "given up"),
    ...counted(dropsKnown ? twice - repeatedKeys : twice, "repeated"),
  ];
  return words.join(", ") || "all once";
}

function fateAndOrder(outcome, adapter) {
  const { failed, unserved } = outcome.visitors;
  const what = fate(outcome, adapter);
  const words = [
    ...(what === "all once" ? [] : [what]),
    ...counted(outcome.outOfOrder, "late"),
    ...counted(failed, "checkouts failed"),
    ...counted(unserved, "unserved"),
  ];
  return words.join(", ") || WELL;
}

/** How long after the service was well again the last payment came. */
function untilLast({ happened, arrived, held, lastMs }) {
  return arrived + held < happened ? "never" : `${number(lastMs / 1_000)} s`;
}

const counted = (count, word) => (count > 0 ? [`${number(count)} ${word}`] : []);

/** What the words of a table mean. */
const FATES = [
  [WELL, "Of those whose checkout succeeded. ✓: each arrived once, in order."],
  [" missing", "*Missing*: not there when nothing had come for 70 s."],
  [" held", "*Held*: it may have arrived, and waits for a person to decide."],
  [" given up", "*Given up*: the queue has stopped trying, and a person can send it again."],
  [" repeated", "*Repeated*: it arrived again, and its service does not drop it by its id."],
  [" late", "*Late*: after a later payment of that visitor, who pays once a second."],
  [" failed", "*Failed*: the visitor got an error, or no answer within a minute."],
  [" unserved", "*Unserved*: no process was there to answer."],
];

/** The columns of the costs. A figure whose rounds do not agree is not there. */
const COSTS = {
  "visitor's wait, median": ({ p50, waitMs }) =>
    waitMs ? `${ratioOf(p50)}, ${median(waitMs).toFixed(1)} ms` : ratioOf(p50),
  "99th percentile": ({ p99 }) => ratioOf(p99),
  "main thread": ({ mainThread }) => ratioOf(mainThread),
  "`import`, ms": ({ importMs }) => number(importMs),
  "with dependencies, MB": ({ bytesOnDisk }) => megabytes(bytesOnDisk),
};

const ratioOf = (rounds) => (rounds ? median(rounds).toFixed(2) : "–");

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

const section = (heading, text, rows) => `## ${heading}\n\n${text}\n\n${rows}`;

/** The title leads to the first page, numbers to the others. */
function linked(title, pages) {
  return pages
    .map((page, nth) => `[${nth === 0 ? title : nth + 1}](${page.replace(/^docs\//, "../../docs/")})`)
    .join(", ");
}

function number(value) {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
}
