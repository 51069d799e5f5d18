// What a process has done: the last hour, what it did not report, its last failures.
import { $, countOf, foreign, h, time } from "./elements.js";
import { patch } from "./patch.js";

const OUTCOMES = {
  queued: "Reported",
  delivered: "Delivered",
  retry: "Failed attempts",
  dead: "Given up",
  skipped: "Skipped",
  dropped: "Dropped",
};

const SKIPPED = {
  "no-attribution": "the visitor brought no click id and no session id",
  "not-referred": "no affiliate referred the visitor",
  consent: "the visitor did not consent",
  disabled: "the tracker is disabled",
  prefetch: "the page was loaded ahead",
  bot: "the visitor is a bot",
  "not-a-page": "the request was for no page",
  zero: "the amount was zero",
};

const DROPPED = {
  invalid: "what was reported is invalid",
  full: "the outbox was full",
  "visitor-full": "the visitor had too many clicks",
  "dead-letters-full": "there were too many dead letters",
  outbox: "the outbox did not take it",
  closed: "the tracker was closed",
  pick: "the host’s `pick` threw",
};

export function showProcess({ name, since, lastHour, skipped, dropped, failures }) {
  patch($("process"), foreign(name), ", counting since ", time(since));
  patch(
    $("hour"),
    Object.entries(OUTCOMES).map(([outcome, label]) => {
      const { minutes, ...kinds } = lastHour[outcome];
      const numbers = ["click", "registration", "payment"].map((kind) => kinds[kind]);
      return h(
        "tr",
        { "data-key": outcome },
        h("th", { scope: "row" }, label),
        h("td", {}, bars(minutes, label)),
        numbers.map((number) => h("td", { class: number === 0 && "quiet" }, number.toLocaleString([]))),
      );
    }),
  );
  showUnreported({ skipped, dropped });
  patch(
    $("failures"),
    failures.length === 0 && h("li", { class: "quiet" }, "None."),
    failures.map(failureLine),
  );
}

const SVG = "http://www.w3.org/2000/svg";

/** A bar for each minute. Its shape is one path, so that it needs no style of its own. */
function bars(minutes, label) {
  const most = Math.max(1, ...minutes);
  const path = document.createElementNS(SVG, "path");
  const heights = minutes.map((count) => (count === 0 ? 0 : Math.max(2, (20 * count) / most)));
  path.setAttribute(
    "d",
    heights.map((height, x) => (height > 0 ? `M${x} 20v${-height}h.8V20z` : "")).join(""),
  );
  const svg = document.createElementNS(SVG, "svg");
  const total = countOf(sumOf(minutes), "event");
  const attributes = {
    viewBox: "0 0 60 20",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `${label}: ${total} in the last hour, ${Math.max(...minutes)} in the busiest minute`,
  };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  svg.append(path);
  return svg;
}

function showUnreported(groups) {
  const words = { skipped: SKIPPED, dropped: DROPPED };
  const rows = Object.entries(groups).flatMap(([group, counts]) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([reason, count]) =>
        h(
          "tr",
          { "data-key": `${group} ${reason}` },
          h(
            "th",
            { scope: "row" },
            h("span", { class: group === "dropped" && "attention" }, group),
            `: ${words[group][reason] ?? reason}`,
          ),
          h("td", {}, count.toLocaleString([])),
        ),
      ),
  );
  patch(
    $("unreported"),
    rows.length > 0
      ? rows
      : h("tr", {}, h("th", { scope: "row", class: "quiet" }, "none"), h("td", { class: "quiet" }, "0")),
  );
}

function failureLine({ outcome, kind, because, count, firstAt, lastAt, email }) {
  const what = { retry: "not delivered, tried again", dead: "given up", dropped: "dropped" }[outcome];
  return h(
    "li",
    { "data-key": `${outcome} ${kind} ${because}` },
    h("p", {}, h("strong", {}, kind), ` ${what}: `, foreign(because)),
    h(
      "p",
      { class: "quiet" },
      count > 1 ? [`${count.toLocaleString([])} times since `, time(firstAt), ", last "] : [],
      time(lastAt),
      email !== undefined && [", of ", foreign(email)],
    ),
  );
}

export function sumOf(counts) {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
