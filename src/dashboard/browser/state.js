// How delivery is: the numbers of the outbox, and of the process that the reader looks at.
import { $, countOf, foreign, h, span, time } from "./elements.js";
import { patch } from "./patch.js";

const KINDS = ["payment", "registration", "click"];
const FORGET_MS = 5 * 60_000;

const OUTCOMES = {
  queued: "Reported",
  delivered: "Delivered",
  retry: "Failed attempts",
  dead: "Given up",
  skipped: "Skipped",
  dropped: "Dropped",
};

const PAUSES = {
  failing: "it fails",
  silent: "it does not answer",
  throttled: "it asks for a pause",
  unauthorized: "it refuses the API key",
  misconfigured: "the address may be wrong",
  unreachable: "it cannot be reached",
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

/** The processes that have answered: behind a load balancer it may be another one each time. */
const processes = new Map();
let chosen;

export function showState({ at, outbox, process }) {
  const now = Date.parse(at);
  processes.set(process.id, { ...process, heardAt: now });
  for (const [id, { heardAt }] of processes) if (now - heardAt > FORGET_MS) processes.delete(id);
  if (!processes.has(chosen)) chosen = process.id;
  const shown = processes.get(chosen);
  showSummary(outbox, shown);
  showFigures(outbox, shown);
  showWaiting(outbox);
  showEndpoints(shown, now);
  showProcess(shown);
}

function showSummary({ dead, trouble }, { endpoints, state }) {
  const paused = endpoints.filter((endpoint) => endpoint.state === "paused");
  const says = [
    trouble && ["The outbox’s storage fails: ", foreign(trouble), ". Events wait in memory."],
    state === "closed" && "The tracker is closed: this process delivers nothing more.",
    paused.length > 0 &&
      `Delivery is paused to ${paused.length === endpoints.length ? "the service" : paused.map(({ endpoint }) => endpoint).join(", ")}. Events wait, and nothing is lost.`,
    dead.unconfirmed > 0 && [
      `${countOf(dead.unconfirmed, "event")} may or may not have arrived: `,
      h("a", { href: "#letters-title", "data-reason": "unconfirmed" }, "decide what to do"),
      ".",
    ],
  ].filter(Boolean);
  document.title = `${paused.length > 0 ? "paused · " : ""}Affiliate delivery`;
  patch(
    $("summary"),
    says.length > 0 ? says.map((words) => h("p", { class: "attention" }, words)) : h("p", {}, "All is well."),
  );
}

function showFigures({ queued, oldestMs, dead }, { lastHour, inFlight }) {
  const total = ({ payment, registration, click }) => payment + registration + click;
  const figures = [
    ["Waiting", queued, oldestMs === null ? "nothing waits" : `the oldest for ${span(oldestMs)}`],
    ["Under way", inFlight, "attempts, at this moment"],
    ["Delivered", total(lastHour.delivered), "in the last hour"],
    ["Failed attempts", total(lastHour.retry), "in the last hour"],
    ["Dead letters", sumOf(dead), reasonsIn(dead)],
  ];
  patch(
    $("figures"),
    figures.map(([name, number, note]) =>
      h(
        "div",
        { "data-key": `figure ${name}` },
        h("dt", {}, name),
        h("dd", {}, h("strong", {}, number.toLocaleString([])), h("span", { class: "quiet" }, note)),
      ),
    ),
  );
}

function sumOf(counts) {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function reasonsIn(dead) {
  const reasons = Object.entries(dead).filter(([, count]) => count > 0);
  return reasons.map(([reason, count]) => `${count} ${reason}`).join(", ") || "none";
}

function showWaiting({ waiting, queued, oldestMs }) {
  const row = (name, events, oldest) =>
    h(
      "tr",
      { "data-key": `waiting ${name}` },
      h("th", { scope: "row" }, name),
      h("td", {}, events.toLocaleString([])),
      h("td", { class: oldest === null && "quiet" }, oldest === null ? "none" : span(oldest)),
    );
  patch(
    $("waiting"),
    waiting === null
      ? row("all kinds", queued, oldestMs)
      : KINDS.map((kind) => row(`${kind}s`, waiting[kind].queued, waiting[kind].oldestMs)),
  );
}

function showEndpoints({ endpoints }) {
  patch(
    $("endpoints"),
    endpoints.map(({ endpoint, state, reason, because, since }) =>
      h(
        "tr",
        { "data-key": endpoint },
        h("th", { scope: "row" }, h("code", {}, endpoint)),
        h(
          "td",
          {},
          state === "open" ? "open" : [h("strong", { class: "attention" }, "paused"), `: ${PAUSES[reason]}`],
          because !== undefined && h("div", { class: "quiet" }, foreign(because)),
        ),
        h("td", {}, since === undefined ? "" : time(since)),
      ),
    ),
  );
}

function showProcess({ name, since, lastHour, skipped, dropped, failures }) {
  patch($("process"), foreign(name), ", counting since ", time(since));
  $("processes").hidden = processes.size < 2;
  patch(
    $("which"),
    [...processes.values()].map(({ id, name }) =>
      h("option", { value: id, "data-key": id, selected: id === chosen }, name),
    ),
  );
  $("which").onchange = ({ target }) => {
    chosen = target.value;
  };
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
