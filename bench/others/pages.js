import { readFileSync, writeFileSync } from "node:fs";
import { median } from "../statistics.ts";
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
const SHORT_ROWS = ["down", "silent", "lose", "deploy-down", "kill", "kill-down", "reload"];
/** The columns of docs/compare.md; bench/results/others.md has all. */
const WHOLE = ["fetch", "segment-id", "posthog-id", "bullmq-tuned", "graphile-worker", "disk", "postgres"];
/** Below the scenario in which ours take longest. */
const AFTER_SILENCE = { name: "silent", title: "until the last came, after that silence", answer: untilLast };
/** What these have not sent waits for a person to decide. The others have given it up. */
const HOLD = ["memory", "disk", "postgres"];
/** Of a scenario in which each payment arrived once, in order. */
const WELL = "✓";
/** Our outboxes that keep payments outside the process. */
const KEPT_OUTSIDE = ["disk", "postgres"];

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
    writeFileSync(path, withTables(readFileSync(path, "utf8"), results));
}

/** README.md with its table: what became of the payments in the scenarios that decide. */
function withShort(page, { measuredOn, outcomes }) {
  const columns = measuredIn(outcomes).filter(({ name }) => SHORT.includes(name));
  const rows = scenarios
    .filter(({ name }) => SHORT_ROWS.includes(name))
    .map(({ name, title, wholeTitle = title }) => ({ name, title: wholeTitle }));
  const corner = `of ${number(measuredOn.payments)} payments`;
  return between(page, MARKS, byScenario(outcomes, fate, { corner, rows, columns }));
}

/** docs/compare.md: what became of the payments, and the costs, of those that people choose between. */
function withWhole(page, results) {
  const columns = measuredIn(results.outcomes).filter(({ name }) => WHOLE.includes(name));
  const isWell = ({ name }) =>
    columns.every((adapter) => fateAndOrder(results.outcomes[name][adapter.name], adapter) === WELL);
  const costed = columns.map(({ name, costsAs = name }) => adapters.find(({ name }) => name === costsAs));
  const [fates, costs] = fatesAndCosts(results, {
    columns,
    rows: [none, ...costed],
    shown: scenarios
      .filter((scenario) => !isWell(scenario))
      .flatMap((scenario) => (scenario.name === AFTER_SILENCE.name ? [scenario, AFTER_SILENCE] : [scenario])),
    left: scenarios.filter(isWell),
    isBrief: true,
  });
  return between(page, MARKS, [circumstances(results.measuredOn), fates, costs].join("\n\n"));
}

/** @param how.isBrief whether a cost is its median alone. `how.left`: scenarios in which all was well. */
function fatesAndCosts(
  { outcomes, costs },
  { columns, rows, shown = scenarios, left = [], isBrief = false },
) {
  const wellIn = left.map(({ title }) => title).join("; ");
  const brief = (cell) => (isBrief ? cell.replace(/ \(.+\)/, "") : cell);
  const fates = byScenario(outcomes, fateAndOrder, { columns, rows: shown });
  return [
    section(
      "What became of the payments?",
      [
        FATES.filter(([word]) => fates.includes(word))
          .map(([, meaning]) => meaning)
          .join(" "),
        ...lostByKill(outcomes),
        ...(wellIn ? [`Not in the table, because all are ${WELL}: ${wellIn}.`] : []),
      ].join("\n\n"),
      fates,
    ),
    section(
      "What does it cost the host?",
      `One package at a time, at ${PER_SECOND} requests a second. The first three columns are ratios to the shop without tracking in the same round: the median round${isBrief ? "" : ", and the spread of the rounds"}; beside the first, its milliseconds. "–": its rounds differed by more than a third. The heap is the main thread's. From Node 22.13 on, our disk outbox takes ${megabytes(costs.disk.bytesOnDisk - costs.memory.bytesOnDisk)} MB less.`,
      table(
        ["", ...Object.keys(COSTS)],
        rows
          .filter(({ name }) => costs[name])
          .map(({ name, title }) => [title, ...Object.values(COSTS).map((show) => brief(show(costs[name])))]),
      ),
    ),
  ];
}

/** bench/results/others.md: of all, what docs/compare.md shows of some; set-ups and times. */
function withTimes(page, results) {
  const { measuredOn, outcomes } = results;
  const columns = measuredIn(outcomes);
  const setUps = columns.map(({ title, setUp, follows }) => [linked(title, follows), setUp]);
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
    ...fatesAndCosts(results, { columns, rows: [none, ...adapters] }).map((text) =>
      text.replaceAll("](outboxes.md#", "](../../docs/outboxes.md#"),
    ),
  ];
  return between(page, MARKS, parts.join("\n\n"));
}

/** Those whose every scenario was measured, in the order of the tables. */
function measuredIn(outcomes) {
  return adapters.filter(({ name }) => scenarios.every((scenario) => outcomes[scenario.name]?.[name]));
}

const circumstances = ({ node, cores, payments, inMs }) =>
  `${number(payments)} payments in ${inMs / 1_000} s, on Node ${node} and ${cores} cores that the shop, its visitors and the service share.`;

/** A row for each scenario, a column for each adapter. A row may have an `answer` of its own. */
function byScenario(
  outcomes,
  answer,
  { corner = "", rows = scenarios, columns = measuredIn(outcomes) } = {},
) {
  return table(
    [corner, ...columns.map(({ title }) => title)],
    rows.map(({ name, title, answer: ofRow = answer }) => [
      title,
      ...columns.map((adapter) => ofRow(outcomes[name][adapter.name], adapter)),
    ]),
  );
}

/** `5 missing, 2 held`, or `all once`. An asterisk: each repetition has the first one's id. */
function fate({ happened, arrived, held, twice, repeatedKeys }, { name, dropsKnown = false }) {
  if (dropsKnown && repeatedKeys === twice) return fate({ happened, arrived, held, twice: 0 }, { name });
  const marked = repeatedKeys === twice ? "*" : "";
  const words = [
    ...counted(happened - arrived - held, "missing"),
    ...counted(held, HOLD.includes(name) ? "held" : "given up"),
    ...counted(twice, `repeated${marked}`),
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
  [" repeated", "*Repeated*: it arrived again."],
  [" repeated*", "With an asterisk, it had the same id, so Segment's and PostHog's services drop it."],
  [" late", "*Late*: after a later payment of that visitor, who pays once a second."],
  [" failed", "*Failed*: the visitor got an error, or no answer within a minute."],
  [" unserved", "*Unserved*: no process was there to answer."],
];

/**
 * What a kill cost our outboxes that keep payments outside the process: how close to it the
 * visitors had their answer.
 */
function lostByKill(outcomes) {
  const lost = measuredIn(outcomes)
    .filter(({ name }) => KEPT_OUTSIDE.includes(name))
    .flatMap(({ name, title }) => {
      const answered = scenarios.flatMap((scenario) =>
        Object.values(outcomes[scenario.name][name].answeredMs ?? {}).map(Math.abs),
      );
      return answered.length > 0 ? [`${number(Math.max(...answered))} ms (${title})`] : [];
    });
  if (lost.length === 0) return [];
  return [
    `\`kill -9\` loses payments that were answered, but not stored yet, in the last ${lost.join(", ")} before the kill. None is lost if the shop [awaits](outboxes.md#killed-processes) the receipt.`,
  ];
}

/** The columns of the costs. */
const COSTS = {
  "visitor's wait, median": ({ p50, waitMs }) =>
    waitMs ? `${beside(p50)}, ${median(waitMs).toFixed(1)} ms` : beside(p50),
  "99th percentile": ({ p99 }) => beside(p99),
  "main thread": ({ mainThread }) => beside(mainThread),
  "heap, bytes an event that waits": ({ heapPerEvent }) =>
    heapPerEvent === null ? "–" : number(heapPerEvent),
  "`import`, ms": ({ importMs }) => number(importMs),
  "with dependencies, MB": ({ bytesOnDisk }) => megabytes(bytesOnDisk),
};

/**
 * `1.21 (1.18 to 1.25)`: the median of the rounds and their spread. A figure whose rounds do not
 * agree is not there.
 */
function beside(rounds) {
  if (!rounds) return "–";
  const sorted = [...rounds].sort((one, other) => one - other).map((each) => each.toFixed(2));
  return `${sorted[(sorted.length - 1) / 2]} (${sorted[0]} to ${sorted.at(-1)})`;
}

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
