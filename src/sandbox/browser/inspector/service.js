// What the app needs to know of the service, and the buttons that make it fail.
import { $, countOf, foreign, h, post, span, time } from "./dom.js";
import { patch } from "./patch.js";

/** What each fault does, and what becomes of the reports that meet it. */
const faults = {
  ok: ["No fault: the service answers."],
  down: ["The port refuses connections."],
  slow: ["Requests are recorded at once and answered late.", "answered late"],
  500: ["Every request fails with 500 Internal Server Error; nothing is recorded.", "missed"],
  503: ["Every request fails with 503 Service Unavailable; nothing is recorded.", "missed"],
  429: ["Every request fails with 429 Too Many Requests and Retry-After; nothing is recorded.", "missed"],
  401: ["Every request fails with 401 Unauthorized; nothing is recorded.", "missed"],
  hang: ["Requests are read and never answered; nothing is recorded.", "missed"],
  reset: ["Requests are read, then the connection is reset; nothing is recorded.", "missed"],
  "reset-after": [
    "Requests are recorded, then the connection is reset instead of an answer.",
    "recorded without an answer",
  ],
  garbage: ["The answer is not HTTP; nothing is recorded.", "missed"],
};
const modes = ["ok", "down", "slow", "500", "503", "429", "401", "hang", "reset", "reset-after", "garbage"];

const nouns = {
  click: "click",
  registration: "registration",
  registrationLead: "registration",
  paymentLead: "payment",
};

/** What a fault cost, in words. */
export function costsOf({ mode, requests, reports, recorded }) {
  if (mode === "down") return "refused connections leave no trace here; what was sent meanwhile is not known";
  if (requests === 0) return "no request met it";
  const counts = {};
  for (const [endpoint, count] of Object.entries(reports)) {
    const noun = nouns[endpoint];
    counts[noun] = (counts[noun] ?? 0) + count;
  }
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (total === 0) return `${countOf(requests, "request")} met it`;
  const [, effect] = faults[mode];
  const what = `${Object.entries(counts)
    .map(([noun, count]) => countOf(count, noun))
    .join(", ")} ${effect}`;
  if (effect !== "missed") return what;
  if (recorded === 0) return `${what}; none recorded since`;
  return `${what}; ${recorded === total ? "all" : `${recorded} of ${total}`} recorded since`;
}

export function showAbout({ url, clientId, apiKey, file }) {
  const pairs = [
    ["Base URL", h("code", {}, url)],
    ["Client id", h("code", {}, clientId)],
    [
      "API key",
      h("code", {}, apiKey),
      " ",
      h("button", { type: "button", id: "copy", "aria-label": "Copy the API key" }, "Copy"),
    ],
    ["Ledger", file ? foreign(file, "code") : "in memory"],
    ["API description", h("a", { href: `${url}/openapi.json` }, "OpenAPI")],
  ];
  patch($("address"), h("code", {}, url), `, client ${clientId}`);
  patch(
    $("about"),
    pairs.map(([term, ...values]) => h("div", {}, h("dt", {}, term), h("dd", {}, values))),
  );
  $("copy").onclick = async () => {
    await navigator.clipboard.writeText(apiKey);
    $("copy").textContent = "Copied";
  };
}

export function offerModes() {
  for (const mode of modes) {
    const button = h("button", { type: "button", value: mode, title: faults[mode][0] }, mode);
    button.addEventListener("click", () => setFault(mode));
    $("modes").append(button);
  }
}

async function setFault(mode) {
  const numberIn = (id) => ($(id).value === "" ? undefined : Number($(id).value));
  await attempt(() =>
    mode === "ok"
      ? post("fault", { mode })
      : post("fault", { mode, forMs: numberIn("duration"), delayMs: numberIn("delay") }),
  );
}

/** Does something that the sandbox may refuse, and shows why. */
export async function attempt(action) {
  try {
    $("problem").textContent = "";
    await action();
  } catch (error) {
    $("problem").textContent = error.message;
  }
}

let until = null;

/** Shows the fault in force, and what it has cost so far; without one, what the last one cost. */
export function showFault({ fault, faults: periods }) {
  const { mode, since } = fault;
  const [last] = periods;
  until = fault.until;
  document.title = mode === "ok" ? "Affiliate sandbox" : `${mode} · Affiliate sandbox`;
  patch(
    $("fault"),
    mode === "ok"
      ? faults.ok[0]
      : [
          h("strong", { class: "attention" }, mode),
          " since ",
          time(since),
          until ? [", until ", time(until)] : ", until told otherwise",
        ],
  );
  patch($("costs"), mode === "ok" ? [] : `${faults[mode][0]} So far: ${last ? costsOf(last) : "nothing"}.`);
  for (const button of $("modes").children)
    button.setAttribute("aria-pressed", String(button.value === mode));
  countDown();
}

/** How long the fault still lasts. Not read out, or every second would be. */
export function countDown() {
  const left = until === null ? "" : `${span(Math.max(0, Date.parse(until) - Date.now()))} left`;
  if ($("left").textContent !== left) $("left").textContent = left;
}

export function showDecisions(decisions) {
  patch(
    $("decisions"),
    decisions.map(({ section, open, decision }) => [
      h("dt", {}, `${section}: ${open}`),
      h("dd", {}, decision),
    ]),
  );
}
