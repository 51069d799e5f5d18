// How delivery is: the numbers of the outbox, and of the process that the reader looks at.
import { $, countOf, foreign, h, span, time } from "./elements.js";
import { patch } from "./patch.js";
import { showProcess, sumOf } from "./process.js";

const KINDS = ["payment", "registration", "click"];
const FORGET_MS = 5 * 60_000;

const PAUSES = {
  failing: "it fails",
  silent: "it does not answer",
  throttled: "it asks for a pause",
  unauthorized: "it refuses the API key",
  misconfigured: "the address may be wrong",
  unreachable: "it cannot be reached",
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
  showChoice();
}

function showChoice() {
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
}

function showSummary({ dead, trouble }, { endpoints, state }) {
  const paused = endpoints.filter((endpoint) => endpoint.state === "paused");
  const says = [
    trouble && ["The outbox’s storage fails: ", foreign(trouble), ". Events wait in memory."],
    state === "closed" && "The tracker is closed: this process delivers nothing more.",
    paused.length > 0 &&
      `Delivery is paused to ${paused.length === endpoints.length ? "the service" : paused.map(({ endpoint }) => endpoint).join(", ")}. Events wait.`,
    dead.unconfirmed > 0 && [
      `${countOf(dead.unconfirmed, "event")} may or may not have arrived: `,
      h("a", { href: "#letters-title", "data-reason": "unconfirmed" }, "decide what to do"),
      ".",
    ],
    dead.rejected + dead.expired > 0 && [
      `${countOf(dead.rejected + dead.expired, "event")} given up: `,
      h("a", { href: "#letters-title", "data-reason": "" }, "see why"),
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
        h("th", { scope: "row" }, h("code", {}, breakable(endpoint))),
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

/** A path that may be broken after its slashes. */
function breakable(path) {
  return path.split(/(?<=\/)/).flatMap((part) => [part, h("wbr", {})]);
}
